import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBytesAhead } from '../../pipeline/kafka/bytes-ahead.ts';
import type { OnHandled } from '../../pipeline/kafka/handled-offsets.ts';
import type { Placed } from '../../pipeline/kafka/publish.ts';
import type { Position } from '../../pipeline/kafka/read-lag.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { eventually } from '../support/eventually.ts';

const log = createLogger({ logLevel: 'silent' }, 'test');
const { signal: never } = new AbortController();

interface Send {
  name: string;
  job: number;
  bytes: number;
  signal: AbortSignal;
}

/** One partition of `rows`; the test sets validate's committed offset. */
function setUp(maxBytes: number) {
  let clock = 0;
  let committed = 0n;
  let first = 0n;
  let fails = false;
  let asked = 0;
  const sent: string[] = [];
  const positions = async (): Promise<Map<number, Position>> => {
    asked++;
    if (fails) throw new Error('no broker');
    const next = committed > first ? committed : first;
    return new Map([[0, { next, handled: next, end: BigInt(sent.length) }]]);
  };
  let say: OnHandled = () => {};
  const subscribe = (onHandled: OnHandled) => {
    say = onHandled;
  };
  const bytesAhead = createBytesAhead(maxBytes, { log, positions, subscribe, pollMs: 1, now: () => clock });
  const place = async (name: string): Promise<Placed> => new Map([[0, BigInt(sent.push(name) - 1)]]);
  const sendOf = async (
    partner: string,
    { name = partner, job = 1, bytes = 100, signal = never }: Partial<Send> = {},
  ) => (await bytesAhead.room({ partner, job, bytes }, signal))(() => place(name));
  return {
    sent,
    asked: () => asked,
    ...bytesAhead,
    send: (name: string, job: number, bytes = 100, signal = never) =>
      sendOf('p', { name, job, bytes, signal }),
    sendOf,
    pass: (seconds: number) => {
      clock += seconds * 1_000;
    },
    validate: (count: number) => {
      committed = BigInt(count);
    },
    /** A validate in this process reports its progress. */
    say: (count: number) => say(0, BigInt(count)),
    /** Kafka has deleted the messages before this one. */
    expire: (count: number) => {
      first = BigInt(count);
    },
    fail: (isFailing: boolean) => {
      fails = isFailing;
    },
    lose: (count: number) => sent.splice(count),
    failingSend: async () =>
      (await bytesAhead.room({ partner: 'p', job: 1, bytes: 300 }, never))(() =>
        Promise.reject(new Error('no')),
      ),
  };
}

/** Lets everything that can proceed do so. */
const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Like `eventually`, for many short waits. */
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
};

it('sends the rest as soon as validate says that it has handled something, whatever Kafka knows', async () => {
  const { send, sent, say, fail } = setUp(300);
  fail(true);
  const sends = ['a', 'b', 'c', 'd', 'e'].map((name) => send(name, 1));
  await Promise.all(sends.slice(0, 3));
  say(1);
  await sends[3];
  await settle();
  expect(sent).toEqual(['a', 'b', 'c', 'd']);
  say(2);
  await sends[4];
});

it('sends up to so many bytes, and the rest as validate commits', async () => {
  const { send, sent, validate } = setUp(300);
  const sends = ['a', 'b', 'c', 'd', 'e'].map((name) => send(name, 1));
  await Promise.all(sends.slice(0, 3));
  await settle();
  expect(sent).toEqual(['a', 'b', 'c']);
  validate(1);
  await sends[3];
  await settle();
  expect(sent).toEqual(['a', 'b', 'c', 'd']);
  validate(4);
  await sends[4];
});

it('older jobs of a partner go first', async () => {
  const { send, sent, validate } = setUp(100);
  await send('first', 9);
  const later = send('later', 9);
  const older = send('older', 2);
  validate(1);
  await older;
  expect(sent).toEqual(['first', 'older']);
  validate(2);
  await later;
});

it('a partner waits for no queue of another, only for the bytes that are in the topic', async () => {
  const { sendOf, sent, validate } = setUp(400);
  const ofA = Array.from({ length: 20 }, (_, n) => sendOf('a', { name: `a${n}` }));
  await Promise.all(ofA.slice(0, 4));
  // The first rows of partner b go at once, beyond the bound, and so do those of c; then they take turns.
  await Promise.all([sendOf('b'), sendOf('c')]);
  const rest = [sendOf('b'), sendOf('c')];
  await settle();
  expect(sent).toEqual(['a0', 'a1', 'a2', 'a3', 'b', 'c']);
  // With three partners, half as many bytes are in flight.
  validate(6);
  await until(() => sent.length >= 8);
  validate(8);
  await Promise.all(rest);
  expect(sent.slice(6, 10).sort()).toEqual(['a4', 'a5', 'b', 'c']);
  validate(100);
  await Promise.all(ofA);
});

it('while several partners send, half as many bytes are in flight, and all of them once one is alone again', async () => {
  const { sendOf, sent, validate, pass } = setUp(400);
  await sendOf('b');
  const ofA = Array.from({ length: 20 }, (_, n) => sendOf('a', { name: `a${n}` }));
  await settle();
  expect(sent).toEqual(['b', 'a0']);
  validate(2);
  await until(() => sent.length >= 4);
  await settle();
  expect(sent).toEqual(['b', 'a0', 'a1', 'a2']);
  pass(10);
  await until(() => sent.length === 6);
  await settle();
  expect(sent.slice(4)).toEqual(['a3', 'a4']);
  validate(100);
  await Promise.all(ofA);
});

it('partners that wait all the time get the same bytes, whatever their batches are and how validate proceeds', async () => {
  const batch = fc.integer({ min: 1, max: 700 });
  const batches = fc.array(batch, { minLength: 60, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      batches,
      batches,
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 10, maxLength: 10 }),
      async (ofA, ofB, steps) => {
        const { sendOf, sent, asked, validate } = setUp(2_000);
        for (const [n, bytes] of ofA.entries()) void sendOf('a', { name: `a ${bytes}`, job: n, bytes });
        await settle();
        const before = sent.length;
        // All of the other partner's jobs are later.
        for (const [n, bytes] of ofB.entries()) void sendOf('b', { name: `b ${bytes}`, job: 100 + n, bytes });
        const since = (partner: string) =>
          sent
            .slice(before)
            .filter((one) => one.startsWith(partner))
            .map((one) => Number(one.slice(2)));
        const sum = (bytes: number[]) => bytes.reduce((total, one) => total + one, 0);
        let done = 0;
        for (const step of steps) {
          done += step;
          validate(done);
          const polls = asked();
          await until(() => asked() > polls + 1);
          await settle();
          const [a, b] = [since('a'), since('b')];
          if (before + a.length === ofA.length || b.length === ofB.length) break;
          // At most a batch of each.
          expect(Math.abs(sum(a) - sum(b))).toBeLessThanOrEqual(2 * 700);
        }
        validate(1_000);
        await until(() => sent.length === ofA.length + ofB.length);
        for (const [partner, bytes] of [
          ['a', ofA],
          ['b', ofB],
        ] as const)
          expect(sent.filter((one) => one.startsWith(partner))).toEqual(
            bytes.map((one) => `${partner} ${one}`),
          );
      },
    ),
    { numRuns: 30 },
  );
});

it('what is larger than the bound is sent alone', async () => {
  const { send, sent, validate } = setUp(100);
  await send('large', 1, 1_000);
  const next = send('next', 1);
  await settle();
  expect(sent).toEqual(['large']);
  validate(1);
  await next;
});

it('what Kafka has deleted or lost is not waited for', async () => {
  const { send, expire, lose, sent } = setUp(100);
  await send('deleted', 1);
  const second = send('second', 1);
  expire(1);
  await second;
  const third = send('third', 1);
  lose(1);
  await third;
  expect(sent).toEqual(['deleted', 'third']);
});

it('a send that failed counts nothing; one that waits ends with its signal', async () => {
  const { send, failingSend, sent } = setUp(300);
  await expect(failingSend()).rejects.toThrow('no');
  await send('a', 1, 300);
  const lost = new AbortController();
  const waiting = send('b', 1, 100, lost.signal);
  lost.abort(new Error('partition lost'));
  await expect(waiting).rejects.toThrow('partition lost');
  expect(sent).toEqual(['a']);
});

it('tells when validate has caught up with what was there, and not with what came since', async () => {
  const { send, caughtUp, validate, asked } = setUp(1_000);
  await caughtUp(never);
  await send('a', 1);
  const before = asked();
  const done = caughtUp(never);
  await eventually(asked).toBeGreaterThan(before);
  await settle();
  await send('b', 1);
  validate(1);
  await done;
});

it('tells when rows are validated, whatever the brokers answer meanwhile', async () => {
  const { send, handled, validate, fail } = setUp(1_000);
  const placed = await send('a', 1);
  let isDone = false;
  fail(true);
  const done = handled(placed, never).then(() => {
    isDone = true;
  });
  await settle();
  validate(1);
  expect(isDone).toBe(false);
  fail(false);
  await eventually(() => isDone).toBe(true);
  await done;
});
