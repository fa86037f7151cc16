/** A document that a manifest named was gone, or a manifest was replaced under us again and again. */
export class ContendedError extends Error {
  readonly code = 'contended';
  readonly retriable = true;

  constructor(manifest: string) {
    super(`${manifest} was changed by somebody else again and again`);
    this.name = 'ContendedError';
  }
}
