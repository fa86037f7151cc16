/** `s3_path` of a file begins with the partner's prefix; `file_path` of a request must not. */
import { Problem } from './problem.ts';

/** The prefix is the partner's id and a slash (pipeline/stores/partners.ts). */
export function checkPrefixLeftOut(partner: string, filePath: string): void {
  const prefix = `${partner}/`;
  if (!filePath.startsWith(prefix)) return;
  const rest = filePath.slice(prefix.length);
  const message = `must be relative to your prefix: leave out ${prefix}${rest === '' ? '' : ` and send ${rest}`}`;
  throw new Problem('invalid_body', `file_path ${message}.`, { errors: [{ path: 'file_path', message }] });
}
