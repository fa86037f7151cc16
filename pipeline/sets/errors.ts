/** Why a change to a device set was not made. */

/** The caller does not own the slot any more: nothing was written, and nothing must be tried again. */
export class FencedError extends Error {
  readonly code = 'fenced';
  readonly retriable = false;

  constructor() {
    super('another owner has taken over this slot');
    this.name = 'FencedError';
  }
}

/** Others changed the same sets each time we tried, and the fence says that we are the owner. */
export class ContendedError extends Error {
  readonly code = 'contended';
  readonly retriable = true;

  constructor(attempts: number) {
    super(`lost the race for a device set ${attempts} times in a row`);
    this.name = 'ContendedError';
  }
}
