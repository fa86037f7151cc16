/** The only logger: one line per event. Lines about a job carry its id; no line contains a secret or a device identifier. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { secretVariables } from '../../schemas/secret-files.ts';
import { withoutIdentifiers } from '../formats/find-identifiers.ts';
import { withSourcePositions } from './source-positions.ts';

export type { Logger } from 'pino';

const secretNames = new Set([
  'authorization',
  'credentials',
  'accessKeyId',
  'secretAccessKey',
  'secret',
  'api_key',
  'apiKey',
  'user_token',
  'userToken',
  'x-user-token',
  'password',
  ...secretVariables,
]);
/** pino prints no deeper. */
const MAX_DEPTH = 6;

/** pino's own redaction goes by paths: each name at each depth would take longer than the rest of the line. */
function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || 'toJSON' in value || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, depth + 1));
  const redact = ([name, each]: [string, unknown]): [string, unknown] =>
    secretNames.has(name) && each !== undefined
      ? [name, '[redacted]']
      : [name, withoutSecrets(each, depth + 1)];
  return Object.fromEntries(Object.entries(value).map(redact));
}

/** Removes the password from mongodb://user:password@host, and device identifiers. */
const cleaned = (text: string) =>
  withoutIdentifiers(text.replace(/(\/\/[^/:@\s]+):[^@/\s]+@/g, '$1:[redacted]@'));

/** Text from partners and drivers, such as a path or an error that quotes a row, may contain a device identifier. */
const freeTexts = ['path', 'key', 'reason', 'errors'] as const;
const clean = (value: unknown): unknown =>
  typeof value === 'string'
    ? withoutIdentifiers(value)
    : JSON.parse(withoutIdentifiers(JSON.stringify(value) ?? 'null'));
/** The error is left to its serializer. */
function printable({ err, ...fields }: Record<string, unknown>): Record<string, unknown> {
  const shown = withoutSecrets(fields) as Record<string, unknown>;
  for (const name of freeTexts) if (shown[name] !== undefined) shown[name] = clean(shown[name]);
  return err === undefined ? shown : { err, ...shown };
}

/** A driver's error may reference its whole topology, which pino cannot serialize. */
function briefly([name, value]: [string, unknown]): [string, unknown][] {
  try {
    const text = withoutIdentifiers(JSON.stringify(value) ?? '');
    return text !== '' && text.length < 2_000 ? [[name, JSON.parse(text)]] : [];
  } catch {
    return [];
  }
}

export function createLogger(
  config: { logLevel: string },
  name: string,
  destination?: DestinationStream,
): Logger {
  const options = {
    name,
    level: config.logLevel,
    base: { process: name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: printable },
    serializers: {
      err(error: unknown) {
        const serialized = pino.stdSerializers.err(error as Error);
        if (typeof serialized !== 'object' || serialized === null) return serialized;
        return {
          ...(withoutSecrets(Object.fromEntries(Object.entries(serialized).flatMap(briefly))) as object),
          message: cleaned(serialized.message ?? ''),
          stack: cleaned(withSourcePositions(serialized.stack ?? '')),
        };
      },
    },
  };
  return destination ? pino(options, destination) : pino(options);
}
