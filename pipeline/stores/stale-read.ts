/**
 * What was read is older than what is known to have been written. A member that has just become primary shows for a moment less than
 * a majority has acknowledged to the one before it; so what cannot be is read again, not acted upon.
 */
export class StaleRead extends Error {
  readonly code = 'stale_read';
  readonly retriable = true;
}
