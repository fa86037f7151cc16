/** What validate does with a batch, step by step: it sends devices and rejects before the ledger counts the batch. */
import { expect, it } from 'vitest';
import { createValidateRows, type ValidateDependencies } from '../../pipeline/stages/validate-rows.ts';
import type { LedgerEntry } from '../../pipeline/stores/ledger.ts';
import type { RowBatch } from '../../schemas/topics.ts';
import { testPlacement } from '../sets/devices.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';
import { file, ids } from '../support/rows.ts';

const batchOf = (rows: string, fields: Partial<RowBatch> = {}): RowBatch => ({
  job: 7,
  file: 0,
  batch: 0,
  last: true,
  partner: 'p1',
  layout: 'audience',
  path: 'a.csv',
  start: 0,
  end: rows.length,
  first_line: 1,
  lines: rows.split('\n').length - 1,
  delimiter: ','.charCodeAt(0),
  rows: Buffer.from(rows),
  failure: null,
  attempt: 0,
  ...fields,
});

function setUp({ wanted = true } = {}) {
  const environment = recordingEnvironment('validate');
  const ledger: LedgerEntry[] = [];
  const stage = createValidateRows({
    ...environment,
    contexts: { get: async () => ({ job: aJob({ phase: 'listed' }), wanted }) },
    ledger: { record: async (entry: LedgerEntry) => void ledger.push(entry) },
    rejects: { keep: async ({ rows }: { rows: unknown[] }) => rows },
    lags: { positionsOf: async () => new Map() },
    handledOffsets: { subscribe() {} },
    devicesAheadBytes: 1_000_000,
    slots: 16,
    hashDevice: testPlacement.hash,
    devicePartitions: 4,
    rejectPartitions: 2,
    rejectsPerFile: 100,
    notifier: { notify() {} },
    onValidated() {},
  } as unknown as ValidateDependencies);
  const run = (batch: RowBatch) => stage.handle!(environment.deliver({ name: 'RowBatch', value: batch }));
  const giveUp = (batch: RowBatch) =>
    stage.handle && stage.giveUp!(environment.deliver({ name: 'RowBatch', value: batch }));
  return { ...environment, run, giveUp, ledger };
}

it('good rows: devices to their slots, then the ledger', async () => {
  const { run, actions, sent, ledger } = setUp();
  await run(batchOf(file(ids(50), 'seen')));
  expect(actions).toEqual(['devices', 'ledger']);
  expect(new Set(sent.map(({ topic }) => topic))).toEqual(new Set(['devices']));
  expect(ledger).toMatchObject([{ rows: 50, accepted: 50 }]);
});

it('bad rows among them: kept, sent, and only then counted', async () => {
  const { run, actions, ledger } = setUp();
  await run(batchOf(`${file(ids(50), 'seen')}not-an-identifier,seen\n`));
  expect(actions).toEqual(['devices', 'keep-rejects', 'send-rejects', 'ledger']);
  expect(ledger).toMatchObject([{ rows: 51, accepted: 50, rejected: { bad_identifier: 1 } }]);
});

it('a batch that failed its file is only written down; so is one that is given up', async () => {
  const { run, giveUp, actions, ledger } = setUp();
  await run(batchOf('', { failure: { code: 'changed', message: 'it changed', line: null } }));
  await giveUp(batchOf(file(ids(3), 'seen'), { batch: 1 }));
  expect(actions).toEqual(['ledger', 'give-up']);
  expect(ledger.map(({ failure }) => failure?.code)).toEqual(['changed', 'internal_error']);
});

it('does nothing for a job that nobody wants any more', async () => {
  const { run, actions } = setUp({ wanted: false });
  await run(batchOf(file(ids(3), 'seen')));
  expect(actions).toEqual([]);
});
