/** Partners take turns: however many dry runs one has queued, another's do not wait behind them. */
import { expect, it } from 'vitest';
import type { DryRead } from '../../pipeline/dry-runs/read-dry-run.ts';
import { startDryRuns } from '../../pipeline/dry-runs/run-dry-runs.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createDryRunStore } from '../../pipeline/stores/dry-runs.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { waitFor } from '../support/wait-for.ts';

const database = openDatabase();
const log = createLogger({ logLevel: 'silent' }, 'test');
const limits = { perPartner: 10, perCustomer: 5 };
const nothing: DryRead = { fileCount: 0, bytes: 0, prefixMatches: [], files: [], errors: null };

it('a suppressed device is erased from its examples, even if the process dies before', async () => {
  const { db } = database;
  await ensureIndexes(db);
  const dryRuns = createDryRunStore(db);
  const device = '8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11';
  const now = new Date();
  await dryRuns.insert(
    {
      ...{ _id: 100, partner: 'p', customer: null, status: JobStatus.pending, tries: 0, errors: null },
      ...{ fileCount: 0, bytes: 0, prefixMatches: [], files: [], createdAt: now, updatedAt: now },
      job: { kind: 'import', partner: 'p' } as JobDocument,
    },
    limits,
  );
  const examples = [{ line: 1, code: 'missing_key', raw: device }] as const;
  const counts = { rows: 1, accepted: 0, rejected: { missing_key: 1 }, failure: null, isWhole: true };
  const file = { path: 'a.csv', ...counts, examples: [...examples] };
  const start = (suppressedIdentifiers: () => Promise<Set<string>>) =>
    startDryRuns({
      ...{ log, dryRuns, sets: { suppressedIdentifiers }, everyMs: 5 },
      read: async () => ({ ...nothing, fileCount: 1, files: [file] }),
    });
  let hasLooked = false;
  const first = start(async () => {
    hasLooked = true;
    throw new Error('died');
  });
  await waitFor(() => hasLooked, { what: 'a look at the list' });
  await first.stop();
  const documents = db.collection('dry_runs');
  await documents.updateOne({ _id: 100 as never }, { $set: { leasedUntil: new Date(0) } });

  const successor = start(async () => new Set([device]));
  try {
    const found = async () => (await dryRuns.find('p', null, 100))!;
    await waitFor(async () => (await found()).files[0]?.examples[0]?.raw === '(erased)', {
      what: 'the erasure',
    });
    await waitFor(async () => (await found()).status === JobStatus.done, { what: 'its end' });
    expect(await found()).toMatchObject({ files: [{ ...counts, path: 'a.csv' }] });
  } finally {
    await successor.stop();
  }
});

it('a dry run starts while nine of another partner wait, and those that wait take turns', async () => {
  const { db } = database;
  await ensureIndexes(db);
  const dryRuns = createDryRunStore(db);
  let last = 0;
  const queue = (partner: string) => {
    const now = new Date();
    const job = { kind: 'import', partner } as JobDocument;
    const counts = { tries: 0, fileCount: 0, bytes: 0, prefixMatches: [] };
    const times = { createdAt: now, updatedAt: now };
    const base = { _id: ++last, partner, customer: null, status: JobStatus.pending } as const;
    return dryRuns.insert({ ...base, ...counts, ...times, job, files: [], errors: null }, limits);
  };
  const begun: { partner: string; end(): void }[] = [];
  const read = ({ partner }: JobDocument) =>
    new Promise<DryRead>((resolve) => {
      begun.push({ partner, end: () => resolve(nothing) });
    });
  for (let i = 0; i < 9; i++) await queue('greedy');
  const runner = startDryRuns({
    log,
    dryRuns,
    sets: { suppressedIdentifiers: async () => new Set() },
    read,
    everyMs: 5,
  });
  const hasBegun = (count: number) => waitFor(() => begun.length >= count, { what: `${count} dry runs` });
  await hasBegun(2);
  for (const partner of ['modest', 'third', 'modest']) await queue(partner);
  // None of the greedy partner's dry runs has ended.
  await hasBegun(4);
  expect(begun.slice(2).map(({ partner }) => partner)).toEqual(['modest', 'third']);

  for (let ended = 0; ended < 3; ended++) {
    begun[ended]!.end();
    await hasBegun(5 + ended);
  }
  expect(begun.slice(4).map(({ partner }) => partner)).toEqual(['greedy', 'modest', 'greedy']);
  for (const { end } of begun) end();
  await runner.stop();
});
