/** An error response: thrown anywhere below the routes, written in one place by answer-problems.ts. */
import { withoutIdentifiers } from '../../pipeline/formats/find-identifiers.ts';
import { type FieldError, type ProblemCode, problems, problemType } from '../../schemas/problems.ts';

/** Repeats what was sent, but never a device identifier: clients log errors. */
const nameNoDevice = (errors: FieldError[]): FieldError[] =>
  errors.map(({ path, message }) => ({
    path: withoutIdentifiers(path),
    message: withoutIdentifiers(message),
  }));

export class Problem extends Error {
  readonly status: number;

  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly extra: {
      errors?: FieldError[];
      headers?: Record<string, string>;
      members?: Record<string, unknown>;
      cause?: unknown;
      /** Of errors of the service (5xx). Default: true. */
      isLogged?: boolean;
    } = {},
  ) {
    super(detail, { cause: extra.cause });
    this.status = problems[code].status;
  }

  toBody(instance: string): string {
    const { detail, extra } = this;
    return JSON.stringify({
      type: problemType(this.code),
      title: problems[this.code].title,
      status: this.status,
      detail: withoutIdentifiers(detail),
      code: this.code,
      instance,
      ...(extra.errors ? { errors: nameNoDevice(extra.errors) } : {}),
      ...this.extra.members,
    });
  }
}

export const unauthorized = (detail: string) =>
  new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="headrace"' } });

export const notFound = () =>
  new Problem('not_found', 'There is no resource at this URL, or it does not belong to you.');

/** Limit on unfinished dry runs and reports. */
export const tooManyUnfinished = (
  what: string,
  { perPartner, perCustomer }: { perPartner: number; perCustomer: number },
  customer: string | null,
) =>
  new Problem(
    'too_many_pending',
    customer === null
      ? `Limit of ${perPartner} unfinished ${what} reached. Retry when one has ended.`
      : `Limit of unfinished ${what} reached: ${perCustomer} per customer, ${perPartner} per partner. Retry when one has ended.`,
    { headers: { 'Retry-After': '5' } },
  );

export const unavailable = (detail: string, cause?: unknown) =>
  new Problem('unavailable', detail, { headers: { 'Retry-After': '2' }, cause });
