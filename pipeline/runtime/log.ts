/** The only logger: one line per event. Lines about a job carry its id; no line contains a secret or a device identifier. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { secretVariables } from '../../schemas/secret-files.ts';
import { withoutIdentifiers } from '../formats/find-identifiers.ts';
import { withSourcePositions } from './source-positions.ts';

export type { Logger } from 'pino';

const secretNames = [
  'authorization',
  'credentials',
  'accessKeyId',
  'secretAccessKey',
  'secret',
  'api_key',
  'apiKey',
  'user_token',
  'userToken',
  'password',
  ...secretVariables,
];
/** pino redacts by path, so each name is listed at every depth. */
const redacted = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/** Removes the password from mongodb://user:password@host, and device identifiers. */
const cleaned = (text: string) =>
  withoutIdentifiers(text.replace(/(\/\/[^/:@\s]+):[^@/\s]+@/g, '$1:[redacted]@'));

/** Text from partners and drivers, such as a path or an error that quotes a row, may contain a device identifier. */
const freeTexts = ['path', 'key', 'reason', 'errors'] as const;
const clean = (value: unknown): unknown =>
  typeof value === 'string'
    ? withoutIdentifiers(value)
    : JSON.parse(withoutIdentifiers(JSON.stringify(value) ?? 'null'));
function nameNoDevice(fields: Record<string, unknown>): Record<string, unknown> {
  const given = freeTexts.filter((name) => fields[name] !== undefined);
  if (given.length === 0) return fields;
  return { ...fields, ...Object.fromEntries(given.map((name) => [name, clean(fields[name])])) };
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
    formatters: { level: (label: string) => ({ level: label }), log: nameNoDevice },
    redact: { paths: [...redacted, 'req.headers["x-user-token"]'], censor: '[redacted]' },
    serializers: {
      err(error: unknown) {
        const serialized = pino.stdSerializers.err(error as Error);
        if (typeof serialized !== 'object' || serialized === null) return serialized;
        return {
          ...Object.fromEntries(Object.entries(serialized).flatMap(briefly)),
          message: cleaned(serialized.message ?? ''),
          stack: cleaned(withSourcePositions(serialized.stack ?? '')),
        };
      },
    },
  };
  return destination ? pino(options, destination) : pino(options);
}
