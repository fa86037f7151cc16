/** Types of settings. Their errors say what was expected. */
import { accessSync, constants } from 'node:fs';
import { z } from 'zod';

export const integer = (from: number, to: number, preset: number) =>
  z.coerce
    .number({ error: 'expected a whole number' })
    .int('expected a whole number')
    .min(from, `expected ${from} or more`)
    .max(to, `expected ${to} or less`)
    .default(preset);
export const oneOf = (numbers: readonly number[], preset: number) =>
  z.coerce
    .number({ error: 'expected a whole number' })
    .refine((number) => numbers.includes(number), `expected one of ${numbers.join(', ')}`)
    .default(preset);
/** The example values in deploy/config are public, so they are refused as secrets. */
const isExample = (text: string) => text === 'change-me' || text.startsWith('example-only');
const notTheExample = 'expected your own value, not the example from deploy/config';
export const ownKey = (what: string) =>
  z
    .string(`expected ${what}`)
    .min(1, `expected ${what}`)
    .refine((text) => !isExample(text), notTheExample);
export const secret32 = z
  .string('expected 32 bytes in base64 (openssl rand -base64 32)')
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32, 'expected 32 bytes in base64 (openssl rand -base64 32)')
  .refine((bytes) => !isExample(bytes.toString('latin1')), notTheExample);
/** Keys that verify tokens must be fetched over a safe connection: plain http is allowed on localhost only. */
const safeUrl = /^(https:\/\/.|http:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$))/;
export const host = z
  .string()
  .min(1, 'expected a host name or an IP address to listen on')
  .default('127.0.0.1');
/** Empty means AWS. */
export const endpoint = z
  .union(
    [z.literal(''), z.url({ protocol: /^https?$/, error: 'expected http(s)://host[:port]' })],
    'expected http(s)://host[:port]',
  )
  .default('');

export const text = (what: string) => z.string().min(1, `expected ${what}`);
export const flag = z
  .enum(['0', '1'], 'expected 0 or 1')
  .transform((value) => value === '1')
  .default(false);
export const httpsUrl = z
  .url({ protocol: /^https?$/, error: 'expected https://… (http for localhost only)' })
  .regex(safeUrl, 'expected https://… (http for localhost only)');

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
/** Only checked here. The file is read whenever it is needed, so that a renewed file takes effect. */
export const readableFile = z.string().refine(isReadable, 'expected the path of a file that can be read');
