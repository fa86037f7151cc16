/**
 * A read returned something older than what is known to be written. For a moment, a new primary may show less than a majority had
 * acknowledged to its predecessor. So a result that cannot be true is read again, and not acted upon.
 */
export class StaleRead extends Error {
  readonly code = 'stale_read';
  readonly retriable = true;
}
