/** Something the person at the keyboard can act on: shown as one message, without a stack. */
export class StartError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What a start says while it works. */
export type Report = (line: string) => void;
