/** Why a command failed, printed to the user without a stack trace. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function serverDown(server: 'Kafka' | 'MongoDB', address: string, cause: unknown): CommandFailed {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CommandFailed('server_down', `${server} does not answer at ${address} (${reason})`, { cause });
}

/** The hosts of mongodb://user:password@hosts/…, without the rest. */
export const mongoHosts = (url: string): string =>
  /^mongodb(?:\+srv)?:\/\/(?:[^@/]*@)?([^/?]*)/.exec(url)?.[1] ?? '';

/** A server is reachable but unsuitable, so the process must not start. The message tells the operator which setting is wrong. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
  readonly code = 'start_refused';
  readonly retriable = false;
}
