/** Accepting jobs without loss: numbers without gaps, each job once, also when Kafka or MongoDB fails halfway. */
import { randomUUID } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAcceptQueue } from '../../api/jobs/accept-queue.ts';
import { deletionOf, type ImportRequest } from '../../pipeline/accept/new-job.ts';
import type { OutgoingMessage } from '../../pipeline/kafka/publish.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createAttributeStore } from '../../pipeline/stores/attributes.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { createJobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { eventually } from '../support/eventually.ts';
import { waitFor } from '../support/wait-for.ts';

const log = createLogger({ logLevel: 'silent' }, 'test');
const database = openDatabase();
let db: Db;
beforeEach(async () => {
  db = database.db;
  await db.dropDatabase();
  await ensureIndexes(db);
});

const jobs = () => db.collection<JobDocument>(collections.jobs);
const stored = () => jobs().find().sort({ _id: 1 }).toArray();
/** A slow withdrawal continues after the response. */
const untilPhases = (...phases: string[]) =>
  eventually(async () => (await stored()).map(({ phase }) => phase)).toEqual(phases);
const request = (changes: Partial<ImportRequest> = {}): ImportRequest => ({
  kind: 'import',
  partner: 'p',
  filePath: 'a',
  pathType: 0,
  keyType: 0,
  compressed: null,
  ...changes,
});

/** A hanging publish is refused after this long, in which a job must have been stored. */
const HANGING_MS = 5_000;
const brokerGone = async () => {
  throw new Error('broker gone');
};

/** Gates the publisher, so that publishing can be blocked at a chosen moment. Other tests cover the real path to Kafka. */
function door() {
  const published: number[] = [];
  const state = { open: true, before: async () => {} };
  /** Blocks publishing until it is opened. */
  function shut() {
    let open = () => {};
    let fail = () => {};
    const reached = new Promise<void>((begun) => {
      state.before = () =>
        new Promise((resolve, reject) => {
          open = resolve;
          fail = () => reject(new Error('broker gone'));
          begun();
        });
    });
    const from = (end: () => void) => () => {
      state.before = async () => {};
      end();
    };
    return { reached, open: from(() => open()), fail: from(() => fail()) };
  }
  return {
    published,
    state,
    shut,
    publisher: {
      ready: () => state.open,
      async send(_topic: string, messages: OutgoingMessage[]) {
        await state.before();
        published.push(...messages.map(({ key }) => Number(key)));
        return new Map();
      },
    },
  };
}
const queueBehind = ({ publisher }: ReturnType<typeof door>, limitMs = 60_000, handle = db) =>
  createAcceptQueue({
    jobs: createJobStore(handle),
    counters: createCounterStore(handle),
    publisher,
    log,
    limitMs,
  });

describe('acceptance', () => {
  it('numbers from 1 without gaps in the order asked, and publishes in that order', async () => {
    const kafka = door();
    const queue = queueBehind(kafka);
    const accepted = await Promise.all(
      Array.from({ length: 1_200 }, (_, i) => queue.accept(request({ filePath: String(i) }))),
    );
    expect(accepted.map(({ job }) => job._id)).toEqual(Array.from({ length: 1_200 }, (_, i) => i + 1));
    expect(kafka.published).toEqual(accepted.map(({ job }) => job._id));
    expect((await stored()).map(({ filePath }) => filePath)).toEqual(accepted.map((_, i) => String(i)));
  });

  it('a job behind the deletion of an attribute by another process no longer sees the attribute', async () => {
    const attributes = createAttributeStore(db);
    const [attribute] = await attributes.createAll('p', [{ name: 'a' }]);
    const { _id: id } = attribute!;
    const other = queueBehind(door());
    const jobs = createJobStore(db);
    let isFirst = true;
    const queue = createAcceptQueue({
      jobs: {
        ...jobs,
        // The other process takes the number just before this one inserts its job.
        async insert(documents) {
          if (isFirst) {
            isFirst = false;
            await attributes.hide({ id });
            await other.accept(deletionOf('p', id));
          }
          return jobs.insert(documents);
        },
      },
      counters: createCounterStore(db),
      publisher: door().publisher,
      log,
      limitMs: 60_000,
    });
    const { job } = await queue.accept(request());
    expect((await stored()).map(({ kind }) => kind)).toEqual(['delete', 'import']);
    expect(await attributes.countFor(job, 10)).toBe(0);
  });

  it('two processes at once: no gap, no number twice, every job published once', async () => {
    const doors = [door(), door()];
    const clients = await Promise.all(doors.map(() => connectMongo(parseConfig(database.env))));
    const queues = doors.map((kafka, i) => queueBehind(kafka, 60_000, clients[i]!.db));
    const accepted = await Promise.all(
      Array.from({ length: 400 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i % 20));
        return (await queues[i % 2]!.accept(request())).job._id;
      }),
    );
    const all = Array.from({ length: 400 }, (_, i) => i + 1);
    expect(accepted.toSorted((a, b) => a - b)).toEqual(all);
    expect(doors.flatMap(({ published }) => published).toSorted((a, b) => a - b)).toEqual(all);
    for (const { published } of doors) expect(published).toEqual(published.toSorted((a, b) => a - b));
    await Promise.all(clients.map((client) => client.close()));
  });

  it('stores a group while the one before it is published, and publishes them in order', async () => {
    const kafka = door();
    const gate = kafka.shut();
    const queue = queueBehind(kafka);
    const first = queue.accept(request());
    await gate.reached;
    const second = queue.accept(request());
    await waitFor(async () => (await jobs().countDocuments()) === 2, { what: 'the second job to be stored' });
    expect(kafka.published).toEqual([]);
    gate.open();
    expect((await Promise.all([first, second])).map(({ job }) => job._id)).toEqual([1, 2]);
    expect(kafka.published).toEqual([1, 2]);
  });

  it('an audience’s first job is its audience', async () => {
    const queue = queueBehind(door());
    await queue.accept(request());
    const load = { kind: 'audience', partner: 'p', filePath: 'a' } as const;
    const { job } = await queue.accept({ ...load, audienceName: 'n', customer: null });
    expect(job).toMatchObject({ _id: 2, audience: 2, generation: 1 });
    const appended = await queue.accept({ ...load, audience: 2, generation: 5 });
    expect(appended.job).toMatchObject({ audience: 2, generation: 5 });
  });

  it('a token that comes again, also in the same flush: the job of the first, the others without a gap', async () => {
    const queue = queueBehind(door());
    const token = randomUUID();
    const asked = [request({ requestToken: token }), request(), request({ requestToken: token }), request()];
    const accepted = await Promise.all(asked.map((each) => queue.accept(each)));
    expect(accepted.map(({ job, repeated }) => [job._id, repeated])).toEqual([
      [1, false],
      [2, false],
      [1, true],
      [3, false],
    ]);
    expect((await queue.accept(request({ requestToken: token }))).job._id).toBe(1);
    expect(await jobs().countDocuments()).toBe(3);
  });
});

describe('Kafka away', () => {
  it('known before: refused at once, nothing written', async () => {
    const kafka = door();
    kafka.state.open = false;
    await expect(queueBehind(kafka).accept(request())).rejects.toMatchObject({ code: 'not_accepted' });
    expect(await jobs().countDocuments()).toBe(0);
  });

  it('found out by a failing publish: the jobs are withdrawn', async () => {
    const kafka = door();
    const queue = queueBehind(kafka);
    kafka.state.before = brokerGone;
    const results = await Promise.allSettled([queue.accept(request()), queue.accept(request())]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await untilPhases('withdrawn', 'withdrawn');
    kafka.state.before = async () => {};
    expect((await queue.accept(request())).job._id).toBe(3);
  });

  it('a job that dispatch took meanwhile is accepted, the rest is not', async () => {
    const kafka = door();
    kafka.state.before = async () => {
      await jobs().updateOne({ _id: 1 }, { $set: { phase: 'listed' } });
      throw new Error('broker gone');
    };
    const queue = queueBehind(kafka);
    const results = await Promise.allSettled([queue.accept(request()), queue.accept(request())]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await untilPhases('listed', 'withdrawn');
  });

  it('a publish that hangs: refused in time, and at once until it has settled', async () => {
    const kafka = door();
    let letGo = () => {};
    kafka.state.before = () =>
      new Promise((resolve) => {
        letGo = resolve;
      });
    const queue = queueBehind(kafka, HANGING_MS);
    await expect(queue.accept(request())).rejects.toMatchObject({ code: 'not_accepted' });
    await untilPhases('withdrawn');
    // At once: without a query, and so without a number.
    await expect(queue.accept(request())).rejects.toThrow('Kafka does not answer');
    expect(await jobs().countDocuments()).toBe(1);
    kafka.state.before = async () => {};
    letGo();
    const accepted = await waitFor(() => queue.accept(request()).catch(() => undefined), {
      what: 'Kafka back',
    });
    await untilPhases(...Array(accepted.job._id - 1).fill('withdrawn'), 'accepted');
  });

  it('what came while a publish was failing is refused with it, and at most one group of it was written', async () => {
    const kafka = door();
    const gate = kafka.shut();
    const queue = queueBehind(kafka);
    const first = queue.accept(request());
    await gate.reached;
    const later = Array.from({ length: 1_200 }, () => queue.accept(request()));
    gate.fail();
    const results = await Promise.allSettled([first, ...later]);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
    const written = await waitFor(
      async () => {
        const all = await stored();
        return all.every(({ phase }) => phase === 'withdrawn') ? all : undefined;
      },
      { what: 'the withdrawal of what was written' },
    );
    expect(written.length).toBeLessThanOrEqual(1 + 500);
    expect(kafka.published).toEqual([]);
    expect((await queue.accept(request())).job._id).toBe(written.length + 1);
  });

  it.each(['fails', 'hangs'])(
    'what was stored while a publish %s is withdrawn, and not published',
    async (how) => {
      const kafka = door();
      const gate = kafka.shut();
      const queue = how === 'hangs' ? queueBehind(kafka, HANGING_MS) : queueBehind(kafka);
      const first = queue.accept(request());
      await gate.reached;
      const second = queue.accept(request());
      const results = Promise.allSettled([first, second]);
      await waitFor(async () => (await jobs().countDocuments()) === 2, {
        what: 'the second job to be stored',
      });
      if (how === 'fails') gate.fail();
      expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await untilPhases('withdrawn', 'withdrawn');
      gate.open();
      const accepted = await waitFor(() => queue.accept(request()).catch(() => undefined), {
        what: 'Kafka back',
      });
      expect(accepted.job._id).toBe(3);
      expect(kafka.published).not.toContain(2);
    },
  );

  it('withdrawn jobs keep no credentials', async () => {
    const kafka = door();
    kafka.state.before = brokerGone;
    await queueBehind(kafka)
      .accept(request({ credentials: () => new Binary(Buffer.from('decided')) }))
      .catch(() => {});
    await untilPhases('withdrawn');
    expect((await stored())[0]!.credentials).toBeNull();
  });
});

describe('the end of a process', () => {
  it('drain waits for what was asked', async () => {
    const kafka = door();
    const queue = queueBehind(kafka);
    const asked = Array.from({ length: 50 }, () => queue.accept(request()));
    await queue.drain();
    expect(kafka.published).toHaveLength(50);
    await Promise.all(asked);
  });
});
