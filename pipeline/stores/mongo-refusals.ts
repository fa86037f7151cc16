/** Tells which setting is wrong when MongoDB is reachable but refuses us. */
import { MongoServerSelectionError } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import { certificateProblem } from '../runtime/certificate-problem.ts';
import { mongoHosts, StartRefused } from '../runtime/errors.ts';
import { MongoClient } from './patched-mongodb.ts';

export type MongoSettings = Pick<
  Config,
  'mongoUrl' | 'mongoDatabase' | 'mongoUsername' | 'mongoPassword' | 'limitBackendMs'
>;

interface MongoProblem extends Error {
  code?: number | string;
  /** The file that could not be read. */
  path?: string;
  cause?: MongoProblem;
}

const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;
/** Atlas returns this instead. */
const ATLAS_ERROR = 8000;
const PROBE_MS = 3_000;

/** The error, its causes, and the errors of each server. */
function causesOf(error: unknown, seen = new Set<unknown>()): MongoProblem[] {
  if (!(error instanceof Error) || seen.has(error)) return [];
  seen.add(error);
  const servers = error instanceof MongoServerSelectionError ? (error.reason?.servers.values() ?? []) : [];
  return [
    error as MongoProblem,
    ...causesOf(error.cause, seen),
    ...[...servers].flatMap((server) => causesOf(server.error, seen)),
  ];
}

function messageOf({ mongoUrl }: MongoSettings, error: MongoProblem): string | undefined {
  if (error.code === AUTHENTICATION_FAILED || error.code === ATLAS_ERROR)
    return `HEADRACE_MONGO_URL, or HEADRACE_MONGO_USERNAME and HEADRACE_MONGO_PASSWORD: wrong user or password (${error.message})`;
  if (error.code === UNAUTHORIZED)
    return `HEADRACE_MONGO_URL: its user lacks a privilege, or there is none in it (${error.message}); deploy/README.md lists the privileges`;
  if (error.path !== undefined && decodeURIComponent(mongoUrl).includes(error.path))
    return `HEADRACE_MONGO_URL: a file in it cannot be read (${error.message})`;
  const problem = certificateProblem(error);
  if (problem?.whose === 'ours')
    return `HEADRACE_MONGO_URL (tlsCertificateKeyFile): MongoDB does not accept our certificate (${problem.reason})`;
  if (problem?.whose === 'authority')
    return `HEADRACE_MONGO_URL (tlsCAFile): the certificate of MongoDB is not signed by a known CA (${problem.reason})`;
  if (problem?.whose === 'theirs')
    return `HEADRACE_MONGO_URL: the certificate of MongoDB is not valid (${problem.reason})`;
  return undefined;
}

async function answers(host: string, tls: boolean): Promise<boolean> {
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
    tls,
    ...(tls ? { tlsAllowInvalidCertificates: true } : {}),
    serverSelectionTimeoutMS: PROBE_MS,
    connectTimeoutMS: PROBE_MS,
  });
  try {
    await client.db('admin').command({ hello: 1 });
    return true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

/** A server that expects TLS and gets plain text, or vice versa, closes the connection without a reason. */
async function tlsMessage({ mongoUrl }: MongoSettings): Promise<string | undefined> {
  // mongodb+srv takes its hosts from DNS and uses TLS by default.
  if (!mongoUrl.startsWith('mongodb://')) return undefined;
  const wanted = /[?&](tls|ssl)=true/.test(mongoUrl);
  const hosts = mongoHosts(mongoUrl).split(',');
  const answered = await Promise.all(hosts.map((host) => answers(host, !wanted)));
  const host = hosts.find((_, i) => answered[i]);
  if (host === undefined) return undefined;
  return `HEADRACE_MONGO_URL: expected tls=${!wanted}, because ${host} ${wanted ? 'does not speak' : 'speaks'} TLS`;
}

export async function mongoRefusal(
  config: MongoSettings,
  errors: readonly unknown[],
): Promise<StartRefused | undefined> {
  const causes = errors.flatMap((error) => causesOf(error));
  const refused = causes.find((cause) => cause instanceof StartRefused);
  if (refused) return refused as StartRefused;
  const wasCut = causes.some(({ message }) =>
    /connection .* closed|ECONNRESET|before secure TLS|wrong version/i.test(message),
  );
  const message =
    causes.map((cause) => messageOf(config, cause)).find(Boolean) ??
    (wasCut ? await tlsMessage(config) : undefined);
  return message === undefined ? undefined : new StartRefused(message, { cause: errors[0] });
}
