/**
 * Every query uses an index, however much is stored: each method of each store is called on a database with a long history, and
 * MongoDB's profiler reports each command's plan.
 */
import type { Db, Document } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { createAllStores, type StoreCalls, type Subject } from './all-stores.ts';
import { fillStores, HISTORY } from './fill-stores.ts';
import { jobCalls } from './job-calls.ts';
import { partnerCalls } from './partner-calls.ts';
import { recordCalls } from './record-calls.ts';

/** A call of every method of every store, once per query shape. The type demands all of them: a missing query does not compile. */
const callsFor = (subject: Subject): StoreCalls => ({
  ...jobCalls(subject),
  ...partnerCalls(subject),
  ...recordCalls(subject),
});

const database = openDatabase();
const MARK = 'marks';
/** Max documents of each kind that belong to the subject of the calls. */
const FEW = 60;

/** Calls that may scan or examine more documents, and why. */
const mayExamine: [RegExp, string][] = [
  [/^(partners|apiKeys|tokenKeys)\.list/, 'an operator lists all of them'],
  [/^webhooks\.(list \[\]|active|reseal)/, 'all of them are wanted, and nobody has many'],
  [/^signingKeys\./, 'an installation has few'],
  [/^(apiKeys\.countOthers|tokenKeys\.reseal)/, 'an operator asks, after a secret was rotated'],
  [/^audiences\.list.*"search"/, 'any text may be looked for, for a limited time'],
  [/^audiences\.largest/, 'most audiences of a partner hold devices'],
  [/^dryRuns\.erase/, 'those of a day'],
  [/^spills\.jobs /, 'unfinished jobs, and ended ones that a sweep is about to remove'],
  [/^sets\.match/, 'it reads everything'],
  [/^drop\./, 'sessions of months are few, and a command reads them'],
];

/** Calls that may sort in memory, and what bounds them. */
const maySort: [RegExp, string][] = [
  [/^(partners|apiKeys|tokenKeys)\.list/, 'an operator has made all of them'],
  [/^webhooks\.list/, 'a partner has ten at most; an operator lists all'],
  [/^audiences\.list.*"segment"/, 'a segment has one audience'],
  [/^audiences\.largest/, 'keeps as many as are wanted'],
  [/^votes\.ofAttempt/, 'the number of partitions'],
  [/^jobs\.(searchImportLogs.*"status":[01]|cancelledLoads|list)/, 'jobs that have not ended'],
];
const isAmong = (exceptions: [RegExp, string][], call: string) => exceptions.some(([of]) => of.test(call));

let subject: Subject;
beforeAll(async () => {
  const { db } = database;
  await ensureIndexes(db);
  subject = await fillStores(db);
  await db.createCollection('system.profile', { capped: true, size: 64 << 20 });
  await db.command({ profile: 2 });
});

async function drain(call: () => unknown): Promise<void> {
  const settled = await call();
  if (settled !== null && typeof settled === 'object' && Symbol.asyncIterator in settled)
    for await (const _ of settled as AsyncIterable<unknown>);
}

/** The commands of a call: those between two marks. */
async function profiled(db: Db, call: () => unknown): Promise<Document[]> {
  const marks = db.collection(MARK);
  await marks.findOne({ mark: 'before' });
  // A call that fails because it finds nothing to do has still made its query.
  await drain(call).catch(() => {});
  await marks.findOne({ mark: 'after' });
  const entries = await db.collection('system.profile').find().sort({ $natural: -1 }).limit(100).toArray();
  const places = entries.flatMap(({ ns, command }, i) =>
    ns === `${db.databaseName}.${MARK}` && command?.filter ? [i] : [],
  );
  return entries.slice(places[0]! + 1, places[1]!).filter(({ ns }) => !ns.endsWith('.system.profile'));
}

function problemOf(call: string, { op, ns, planSummary = '', hasSortStage, ...stats }: Document) {
  const examined = Math.max(stats.keysExamined ?? 0, stats.docsExamined ?? 0);
  const mayRead = isAmong(mayExamine, call);
  const what = `${call}: ${op} ${ns.slice(ns.indexOf('.') + 1)} [${planSummary}] examined ${examined}`;
  if (!mayRead && planSummary.includes('COLLSCAN')) return `${what}: a collection scan`;
  if (!mayRead && examined > FEW) return `${what}: more than it wants`;
  return hasSortStage && !isAmong(maySort, call) ? `${what}: sorts in memory` : undefined;
}

it('no query scans a collection, sorts in memory, or examines what it does not want', async () => {
  const { db } = database;
  type Store = Record<string, (...args: unknown[]) => unknown>;
  const stores = createAllStores(db) as unknown as Record<string, Store>;
  const problems: (string | undefined)[] = [];
  for (const [store, methods] of Object.entries(callsFor(subject)))
    for (const [method, calls] of Object.entries(methods))
      for (const args of calls as unknown[][]) {
        const call = `${store}.${method} ${JSON.stringify(args).slice(0, 200)}`;
        const commands = await profiled(db, () => stores[store]![method]!(...args));
        if (commands.length === 0) problems.push(`${call}: sent no command`);
        problems.push(...commands.map((command) => problemOf(call, command)));
      }
  expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
});

it('the history is there: the checks above would be worth nothing on empty collections', async () => {
  for (const name of [collections.jobs, collections.files, collections.ledger, collections.rejects])
    expect(await database.db.collection(name).estimatedDocumentCount()).toBeGreaterThanOrEqual(HISTORY / 2);
});
