/** `headrace admin drop …`: sessions with California's Delete Request and Opt-out Platform (DROP). */
import type { Command } from 'commander';
import { count, plural } from '../../../../api/client/format.ts';
import type { Erasure } from '../../../../api/drop/create-erasure.ts';
import { createDropPlatform } from '../../../../api/drop/platform.ts';
import { runSession } from '../../../../api/drop/session.ts';
import { CommandFailed } from '../../../../pipeline/runtime/errors.ts';
import { printable, printLines } from '../../../../pipeline/runtime/terminal.ts';
import { createLease } from '../../../../pipeline/stores/lease.ts';
import type { ConfigOf } from '../../../../schemas/config.ts';
import type { DropBatchDocument } from '../../../../schemas/drop-documents.ts';
import type { Environments } from '../../commands.ts';
import { bar, createProgressLine } from '../../progress-line.ts';
import { type Columns, none, whenever } from '../../show.ts';
import { type AdminContext, adminCommands } from '../runner.ts';
import { list } from '../views.ts';

const DAY_MS = 86_400_000;
const LISTED = 20;

const entriesOf = ({ files }: DropBatchDocument) =>
  files.reduce((sum, { list, entries }) => sum + (list === 'Removed' ? 0 : entries), 0);

const record = (batch: DropBatchDocument) => ({
  batch: batch._id,
  state: batch.state,
  requested_at: batch.requestedAt,
  completed_at: batch.completedAt ?? null,
  files: batch.files,
  entries: entriesOf(batch),
  matched: batch.matched,
  withdrawn: batch.withdrawn,
  unreadable: batch.unreadable,
  requests: batch.requests,
  rejections: batch.uploads.flatMap(({ rejections }) => rejections),
  problem: batch.state === 'complete' ? null : (batch.problem ?? null),
});

const columns: Columns<DropBatchDocument> = {
  BATCH: ({ _id }) => String(_id),
  STATE: ({ state }) => state,
  ENTRIES: entriesOf,
  DELETED: ({ matched }) => matched,
  WITHDRAWN: ({ withdrawn }) => withdrawn,
  REQUESTED: ({ requestedAt }) => whenever(requestedAt),
  COMPLETE: ({ completedAt }) => whenever(completedAt),
};
const lines = (batches: DropBatchDocument[]) => list(batches, columns, 'no sessions');

function settingsOf({ dropUrl, dropApiKey, dropBrokerId }: ConfigOf<'admin'>) {
  const missing = Object.entries({
    HEADRACE_DROP_URL: dropUrl,
    HEADRACE_DROP_API_KEY: dropApiKey,
    HEADRACE_DROP_BROKER_ID: dropBrokerId,
  }).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length > 0) throw new CommandFailed('bad_configuration', `${missing.join(', ')}: not set`);
  return { url: dropUrl!, apiKey: dropApiKey!, brokerId: dropBrokerId! };
}

/** One session at a time: a second one would answer the same batch. */
async function alone<T>({ counters, config }: AdminContext, work: () => Promise<T>): Promise<T> {
  const lease = createLease(counters, 'drop session', config.dropLeaseMs);
  if (!(await lease.take()))
    throw new CommandFailed('drop_busy', 'a session is running, or was killed within the last minute');
  return lease.hold(work);
}

/** With the queue for the deletion requests of a session. */
async function withErasure<T>(context: AdminContext, work: (erasure: Erasure) => Promise<T>): Promise<T> {
  // Loads the Kafka client, which no other command here needs.
  const { withAcceptQueue } = await import('../accept-job.ts');
  const { createErasure } = await import('../../../../api/drop/create-erasure.ts');
  const { secret } = context.config;
  return withAcceptQueue(context, (queue, connect) =>
    work(createErasure({ ...context, queue, requireReady: connect, secret })),
  );
}

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const drop = admin.command('drop').description('answer deletion requests from California’s DROP');

  add(drop, 'sync', 'run one session: download a batch, delete and suppress its devices, report every status')
    .addHelpText(
      'after',
      '\nRun it once a day. It first finishes an interrupted session. It fails while DROP is closed (1 to 3 am Pacific).',
    )
    .changes(async (context) => {
      const { config, drop: store, sets } = context;
      const { brokerId, ...platform } = settingsOf(config);
      const line = createProgressLine();
      const say = (text: string) => {
        line.clear();
        void printLines(process.stderr, [printable(`drop: ${text}`)]);
      };
      const progress = (what: string, done: number, of: number) =>
        line.show(`${what} ${bar(of === 0 ? null : done / of)} ${count(done)} of ${count(of)}`);
      const { batch, amended } = await alone(context, () =>
        withErasure(context, (erasure) =>
          runSession({
            ...{ store, sets, erasure, brokerId, say, progress },
            platform: createDropPlatform({
              ...platform,
              waitPercent: config.dropWaitPercent,
              opensAt: config.dropOpensAt,
            }),
          }),
        ),
      );
      line.clear();
      return {
        json: { ...record(batch), amended },
        text: [
          ...lines([batch]),
          `${plural(entriesOf(batch), 'entry', 'entries')} answered, ${count(batch.matched)} deleted; ${count(amended)} of earlier batches amended`,
        ],
      };
    });

  add(drop, 'status', 'show the last sessions, when the next one is due, and open entries').reads(
    async ({ config, drop }) => {
      const { last, open, rejected } = await drop.summary();
      const batches = await drop.list(LISTED);
      const due = last ? new Date(last.getTime() + config.dropDays * DAY_MS) : null;
      const problem = batches[0] ? record(batches[0]).problem : null;
      return {
        json: {
          last_complete_at: last ?? null,
          due_at: due,
          open_entries: open,
          rejected_files: rejected,
          problem,
          batches: batches.map(record),
        },
        text: [
          ...lines(batches),
          `last complete   ${whenever(last)}`,
          `due             ${due ? whenever(due) : 'now'}`,
          `open entries    ${count(open)}`,
          `rejected files  ${count(rejected)}`,
          `problem         ${problem ?? none}`,
        ],
      };
    },
  );
}
