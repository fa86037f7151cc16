/**
 * Every query finds what it wants by an index, however much is stored: each method of each store is called on a database with a long
 * history, and MongoDB's profiler tells how each command was carried out.
 */
import type { Db, Document } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { fillStores, HISTORY } from './fill-stores.ts';
import { callsFor, createAllStores, type Subject } from './store-calls.ts';

const database = openDatabase();
const MARK = 'marks';
/** What the calls are about is a handful of documents of each kind. */
const FEW = 60;

/** Queries that may look at more, and why. */
const exceptions: Record<string, string> = {
  'partners.list': 'an operator lists all partners',
  'apiKeys.list': 'an operator lists all keys',
  'apiKeys.countOthers': 'asked once, after a secret was rotated',
};

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

/** The commands that a call sent. Each call is followed by a mark of its own. */
async function profiled(db: Db, name: string, call: () => unknown): Promise<Document[]> {
  const marks = db.collection(MARK);
  await marks.findOne({ before: name });
  // That there is nothing to do for a call is as good as a result: its query was made.
  await drain(call).catch(() => {});
  await marks.findOne({ after: name });
  const entries = await db.collection('system.profile').find().sort({ $natural: -1 }).limit(1_000).toArray();
  const places = entries.flatMap(({ ns, command }, i) =>
    ns === `${db.databaseName}.${MARK}` && command?.filter ? [i] : [],
  );
  return entries.slice(places[0]! + 1, places[1]!).filter(({ ns }) => !ns.endsWith('.system.profile'));
}

function problemOf({ op, ns, planSummary = '', hasSortStage, ...stats }: Document): string | undefined {
  const examined = Math.max(stats.keysExamined ?? 0, stats.docsExamined ?? 0);
  const what = `${op} ${ns.slice(ns.indexOf('.') + 1)} [${planSummary}] examined ${examined}`;
  if (planSummary.includes('COLLSCAN')) return `${what}: a collection scan`;
  if (hasSortStage) return `${what}: sorts in memory`;
  return examined > FEW ? `${what}: more than it wants` : undefined;
}

it('no query scans a collection, sorts in memory, or examines what it does not want', async () => {
  const { db } = database;
  const stores = createAllStores(db) as unknown as Record<
    string,
    Record<string, (...args: unknown[]) => unknown>
  >;
  const problems: string[] = [];
  for (const [store, methods] of Object.entries(callsFor(subject)))
    for (const [method, calls] of Object.entries(methods))
      for (const args of calls as unknown[][]) {
        const name = `${store}.${method}`;
        const entries = await profiled(db, name, () => stores[store]![method]!(...args));
        if (entries.length === 0) problems.push(`${name}: sent no command`);
        if (name in exceptions) continue;
        for (const problem of entries.map(problemOf)) if (problem) problems.push(`${name}: ${problem}`);
      }
  expect(problems).toEqual([]);
});

it('the history is there: the checks above would be worth nothing on empty collections', async () => {
  for (const name of [collections.jobs, collections.files, collections.ledger, collections.rejects])
    expect(await database.db.collection(name).estimatedDocumentCount()).toBeGreaterThanOrEqual(HISTORY / 2);
});
