/** A server that is reachable but unsuitable, so the process must not start. The message is for the operator and names the setting. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
  readonly code = 'start_refused';
  readonly retriable = false;
}
