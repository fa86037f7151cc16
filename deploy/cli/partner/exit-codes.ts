/** Exit codes of partners' commands, as in gh. Scripts rely on them, so a published code keeps its meaning. */
import { ApiProblem } from '../../../api/client/problem.ts';
import type { FieldError } from '../../../schemas/problems.ts';

export const exitCodes = {
  failed: 1,
  usage: 2,
  notAuthorized: 4,
  jobFailed: 5,
  stillRunning: 8,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeHelp = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 4 not authorized, 5 the job failed, 8 still running after --timeout,
130 interrupted.`;

interface Details {
  /** The service's id of the failed request. */
  requestId?: string | null;
  fields?: readonly FieldError[];
  cause?: unknown;
}

/** A failed command: a message for people, a code for programs. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly requestId: string | null;
  readonly fields: readonly FieldError[];

  constructor(
    readonly exitCode: ExitCode,
    readonly code: string,
    message: string,
    { requestId = null, fields = [], cause }: Details = {},
  ) {
    super(message, { cause });
    this.requestId = requestId;
    this.fields = fields;
  }

  toRecord(): object {
    const { code, message, fields, requestId } = this;
    const said = [message, ...fields.map((field) => `${field.path}: ${field.message}`)].join(' ');
    return { code, message: said, request_id: requestId };
  }

  toLines(): string[] {
    const fields = this.fields.map(({ path, message }) => `  ${path}: ${message}`);
    const request = this.requestId === null ? [] : [`  request ${this.requestId}`];
    return [`headrace: ${this.message}`, ...fields, ...request];
  }
}

/** undefined: a bug. */
export function commandErrorOf(error: unknown): CommandError | undefined {
  if (!(error instanceof ApiProblem)) return error instanceof CommandError ? error : undefined;
  const isRefused = error.status === 401 || error.status === 403;
  return new CommandError(
    isRefused ? exitCodes.notAuthorized : exitCodes.failed,
    error.code,
    error.message,
    error,
  );
}

export const usageError = (message: string) => new CommandError(exitCodes.usage, 'usage', message);

/** A command may pass a more specific message. */
export const interruption = (message = 'interrupted') =>
  new CommandError(exitCodes.interrupted, 'interrupted', message);
