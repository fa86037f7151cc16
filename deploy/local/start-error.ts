/** An error that the user can act on: printed as one message, without a stack trace. */
export class StartError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Receives the progress messages of a start. */
export type Report = (line: string) => void;
