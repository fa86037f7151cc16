/** Rules for paths and names. The patterns express the same rules for the OpenAPI document; a test compares the two. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/;
/** An unpaired surrogate, or the replacement character of bytes that were not UTF-8: no object has such a name. */
const notText = /\p{Surrogate}|\ufffd/u;
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

/** A display name: no control characters or bidirectional controls. */
export const plainText =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/;
export const notPlainText =
  'must not contain control characters, nor those that change the direction of text';

const noDots = String.raw`(?!(?:[\s\S]*/)?\.{1,2}(?:/|$))`;
const text = String.raw`[^\u0000-\u001f\u007f-\u009f\ufffd]+`;
export const sharedPathPattern = `^(?!/)(?![A-Za-z][A-Za-z0-9+.-]*://)${noDots}${text}$`;
/** Names that AWS reserves: aliases, directory buckets, tables, IP addresses. */
const reserved =
  /^s3:\/\/(?:(?:xn--|sthree-|amzn-s3-demo-)|[^/]*(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)\/|[^/]*\.\.|\d+\.\d+\.\d+\.\d+\/)/;
export const ownPathPattern = String.raw`^(?!${reserved.source.slice(1)})s3://[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9]/(?!/)${noDots}${text}$`;

function keyProblem(key: string, limitBytes: number): string | undefined {
  if (key === '') return 'must not be empty';
  if (control.test(key)) return 'must not contain control characters';
  if (notText.test(key)) return 'must be valid Unicode';
  if (key.startsWith('/')) return 'must not begin with a slash';
  if (key.split('/').some((segment) => segment === '.' || segment === '..'))
    return 'must not contain a . or .. segment';
  if (new TextEncoder().encode(key).length > limitBytes) return `must not be longer than ${limitBytes} bytes`;
  return undefined;
}

/** A path in the shared bucket, relative to the partner's prefix. */
export function sharedPathProblem(path: string, limitBytes: number): string | undefined {
  if (scheme.test(path)) return 'must be relative to your prefix; s3://… needs path_type 1';
  return keyProblem(path, limitBytes);
}

const own = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/([\s\S]*)$/;

/** `s3://<bucket>/<path>` */
export function ownPathProblem(path: string, limitBytes: number): string | undefined {
  const parts = own.exec(path);
  if (!parts) return 'must have the form s3://<bucket>/<path>';
  if (reserved.test(path)) return 'must not use a reserved bucket name';
  return keyProblem(parts[2]!, limitBytes);
}
