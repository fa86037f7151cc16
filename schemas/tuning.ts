/**
 * Constants that no operator would change. A test shortens one with HEADRACE_TEST_<NAME>, because it starts the service as a
 * process: HEADRACE_TEST_BATCH_BYTES is `batchBytes`. `headrace doctor` warns of them.
 */
export const tuning = {
  /** Maximum jobs in flight. Up to as many more are admitted as the first of their lane. */
  jobWindow: 256,
  /** Files of a job in flight; up to 16 small ones count as one. */
  fileWindow: 64,
  /** Megabytes of rows in flight from split to validate, per process: a third of a second's work. Half while several partners load. */
  rowsAheadMb: 8,
  /** Megabytes of devices in flight from validate to sink, per process. Half while several partners load. */
  devicesAheadMb: 16,
  /** Work without progress for this long is published again. */
  stallMs: 60_000,
  /** Objects per page of a listing. */
  listPage: 1_000,
  /** Bytes of raw rows per message. */
  batchBytes: 700_000,
  /** A larger region of a slot is split. A deletion edits about one at a time. */
  regionBytes: 4 << 20,
  /** Rejected rows stored per file; those of a batch must fit into one document. */
  rejectsPerFile: 10_000,
  /** A read that delivers nothing for this long is retried from the byte reached. */
  s3IdleMs: 20_000,
  dryRunMb: 100,
  /** The claim of an API process on a composition report is free after this long without a heartbeat. */
  compositionDeadMs: 10_000,
  webhookTimeoutMs: 10_000,
  /** Lease of a session with DROP: after a crash, the next one starts when it expires. */
  dropLeaseMs: 60_000,
  /** Scales all waits of DROP sessions, in percent. */
  dropWaitPercent: 100,
  /** DROP is closed daily from 1 am until this hour, Pacific time. */
  dropOpensAt: 3,

  limitBodyBytes: 65_536,
  limitJsonDepth: 8,
  /** Maximum keys of a deletion, which is one message in Kafka. */
  limitKeys: 1_000,
  limitPathBytes: 1_024,
  limitRequestMs: 30_000,
  limitHeadersMs: 10_000,
  /** A client that reads nothing of its response for this long is disconnected. */
  limitStallMs: 30_000,
  limitConnections: 10_000,
  /** Not enforced behind proxies, where all clients share an address. */
  limitConnectionsPerAddress: 1_000,
  /** Open event streams of one API key, or of the sessions of one customer. */
  limitStreams: 100,
  /** Requests with an invalid API key, per address; above that, only keys verified before are accepted. */
  wrongKeysPerMinute: 300,
  /** Maximum burst of requests, in seconds of the average rate. */
  rateBurstSeconds: 2,
};
export type Tuning = { readonly [K in keyof typeof tuning]: number };

const prefix = 'HEADRACE_TEST_';
const nameOf = (key: string) => prefix + key.replace(/[A-Z]/g, '_$&').toUpperCase();
const keys = new Map(Object.keys(tuning).map((key) => [nameOf(key), key]));

export const isTestOverride = (name: string): boolean => keys.has(name);

export function readTuning(env: Record<string, string | undefined>): { tuned: Tuning; problems: string[] } {
  const given = Object.entries(env).filter(([name, value]) => keys.has(name) && value !== undefined);
  return {
    tuned: {
      ...tuning,
      ...Object.fromEntries(given.map(([name, value]) => [keys.get(name), Number(value)])),
    },
    problems: given
      .filter(([, value]) => !/^\d+$/.test(value!))
      .map(([name]) => `${name}: expected a whole number`),
  };
}
