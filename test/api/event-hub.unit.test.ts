/** The hub of events, fed with changes by hand: grouping, ids, and what cannot be resumed. */
import { MongoServerError } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import type { RecordEvent } from '../../api/resources/events/event-log.ts';
import { createEventHub } from '../../api/resources/events/hub.ts';
import type { Change, ChangeStore } from '../../api/stores/changes.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { waitFor } from '../support/wait-for.ts';

const START = 0x6a000000;
const position = (tick: number) => START.toString(16) + tick.toString(16).padStart(8, '0');
const historyLost = () => new MongoServerError({ message: 'resume point not in the oplog', code: 286 });

/** A database that holds nothing but a counter per job. */
function setUp({ loses = 0, padding = '' } = {}) {
  let tick = 1;
  let wake = () => {};
  const log: Change[] = [];
  const state = new Map<number, number>();
  const watched: string[] = [];
  const changes = {
    now: async () => position(tick),
    watch(from: string) {
      watched.push(from);
      let isOpen = true;
      async function* each(): AsyncGenerator<Change> {
        if (loses-- > 0) throw historyLost();
        for (let next = 0; isOpen; ) {
          const change = log[next];
          if (change && ++next && change.at >= from) yield change;
          else if (!change)
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      }
      return {
        each: each(),
        position: () => position(tick),
        async close() {
          isOpen = false;
          wake();
        },
      };
    },
    readAfter: <T>(_: string, read: (session: never) => Promise<T>) => read(undefined as never),
  } as unknown as ChangeStore;
  const render = async (some: readonly Change[]) =>
    some.map(
      ({ id, at }): RecordEvent => ({
        at,
        name: 'import',
        id,
        partner: id < 1_000 ? 'ours' : 'theirs',
        customer: null,
        data: JSON.stringify({ id, value: state.get(id), padding }),
      }),
    );
  const hub = createEventHub({ changes, render, log: createLogger({ logLevel: 'silent' }, 'test') });
  closing = () => hub.close();
  return {
    hub,
    watched,
    change(id: number) {
      tick++;
      state.set(id, tick);
      log.push({ of: 'jobs', id, at: position(tick) });
      wake();
    },
    async join(lastEventId = '') {
      const texts: string[] = [];
      const client = {
        isVisible: ({ partner }: RecordEvent) => partner === 'ours',
        send: (text: string) => void texts.push(text),
        end: () => void texts.push('end'),
      };
      const membership = await hub.join(client, lastEventId);
      const events = () =>
        texts
          .join('')
          .split('\n\n')
          .slice(0, -1)
          .map((block) => {
            const [, id, name, data] = /^id: (.+)\nevent: (.+)\ndata: (.+)$/.exec(block)!;
            return { id: id!, name, data: JSON.parse(data!) };
          });
      return { texts, events, membership: membership! };
    },
    state,
  };
}
let closing = () => {};
afterEach(() => closing());

type Joined = Awaited<ReturnType<ReturnType<typeof setUp>['join']>>;
const untilSeen = ({ events }: Joined, id: number, value: number | undefined) =>
  waitFor(() => events().some(({ data }) => data.id === id && data.value === value), {
    what: `record ${id}`,
    everyMs: 5,
  });

it('a burst of changes of a record becomes a few events, the last with the newest state', async () => {
  const { change, join, state } = setUp();
  const client = await join();
  for (let i = 0; i < 2_000; i++) change(7);
  await untilSeen(client, 7, state.get(7));
  expect(client.events().length).toBeLessThan(5);
});

it('more records than fit one read: nothing is left out, others’ are not sent, and ids never go back', async () => {
  const { change, join, state } = setUp();
  const client = await join();
  for (let id = 0; id < 1_200; id++) change(id);
  for (let id = 0; id < 1_000; id++) await untilSeen(client, id, state.get(id));
  const ids = client.events().map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
  expect(client.events().every(({ data }) => data.id < 1_000)).toBe(true);
});

it('who lost the connection anywhere in the stream resumes with the id that it has, and misses nothing', async () => {
  const { change, join, state } = setUp();
  const steady = await join();
  for (let round = 0; round < 3; round++) {
    for (let id = 0; id < 20; id++) change(id);
    await untilSeen(steady, 19, state.get(19));
  }
  const seen = steady.events();
  for (let cut = 1; cut <= seen.length; cut++) {
    const known = new Map(seen.slice(0, cut).map(({ data }) => [data.id, data.value]));
    const resumed = await join(seen[cut - 1]!.id);
    for (const { data } of resumed.events()) known.set(data.id, data.value);
    for (let id = 0; id < 20; id++) expect([cut, id, known.get(id)]).toEqual([cut, id, state.get(id)]);
    resumed.membership.leave();
  }
});

it('an id that is too old, of the future, or no id at all is answered with a resync', async () => {
  const { join } = setUp();
  for (const id of [position(0).replace(/^6a/, '69'), position(99), 'x'.repeat(16), `${position(1)}0`]) {
    const { events } = await join(id);
    expect(events().map(({ name }) => name)).toEqual(['resync']);
  }
  expect((await join(position(1))).events()).toEqual([]);
});

it('more than a client should be sent at once is a resync, too, and what follows is sent', async () => {
  const { change, join, state } = setUp({ padding: 'x'.repeat(2_000) });
  const steady = await join();
  const before = steady.membership.position();
  for (let id = 0; id < 300; id++) change(id);
  await waitFor(() => steady.texts.length > 0, { what: 'the events', everyMs: 5 });
  const back = await join(before);
  change(7);
  await untilSeen(back, 7, state.get(7));
  expect(back.events().map(({ name }) => name)).toEqual(['resync', 'import']);
});

it('an oplog that does not reach back: the events begin now, and only who asked for earlier ones is told', async () => {
  const { join, change, state, watched } = setUp({ loses: 1 });
  const client = await join();
  await waitFor(() => watched.length === 2, { what: 'the second try', everyMs: 5 });
  change(3);
  await untilSeen(client, 3, state.get(3));
  expect(client.events().map(({ name }) => name)).toEqual(['import']);
  expect((await join(`${(START - 10).toString(16)}00000000`)).events().map(({ name }) => name)).toEqual([
    'resync',
  ]);
});

it('a history lost while clients are there: each is told to read anew, and goes on from there', async () => {
  const { join, change, state, watched } = setUp({ loses: 2 });
  const client = await join();
  change(3);
  await waitFor(() => watched.length === 3, { what: 'the third try', everyMs: 5 });
  change(4);
  await untilSeen(client, 4, state.get(4));
  const [first, ...others] = client.events().map(({ name }) => name);
  expect(first).toBe('resync');
  expect(others).not.toContain('resync');
});

it('closes: every stream ends, and none begins', async () => {
  const { hub, join } = setUp();
  const client = await join();
  hub.close();
  expect(client.texts).toEqual(['end']);
  expect((await join()).membership).toBe(undefined);
});
