import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPlaces } from '../../pipeline/stages/split/places.ts';

const LARGE = 50_000_000;
const SMALL = 1_000;
const { signal: never } = new AbortController();
const settled = () => new Promise((resolve) => setImmediate(resolve));

function setUp(limits: { own: number; shared?: number; total?: number }) {
  const places = createPlaces({ shared: 100, total: 100, ...limits });
  const reading: string[] = [];
  const ends = new Map<string, () => void>();
  const read = (
    name: string,
    {
      partner = 'p',
      job = 1,
      size = LARGE,
      signal = never,
    }: Partial<Parameters<typeof places.use>[0]> & {
      signal?: AbortSignal;
    } = {},
  ) =>
    places.use({ partner, job, size }, signal, async () => {
      reading.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      reading.splice(reading.indexOf(name), 1);
    });
  /** The files being read once every read that may begin has begun. */
  const now = async () => {
    await settled();
    return reading.join(' ');
  };
  return { read, end: (name: string) => ends.get(name)!(), now, reading };
}

it('reads as many files of a partner as it has places, in the order of their jobs', async () => {
  const { read, end, now } = setUp({ own: 2 });
  for (const [name, job] of [
    ['a', 5],
    ['b', 5],
    ['c', 7],
    ['d', 5],
    ['e', 6],
  ] as const)
    void read(name, { job });
  expect(await now()).toBe('a b');
  end('a');
  expect(await now()).toBe('b d');
  end('b');
  expect(await now()).toBe('d e');
  end('d');
  expect(await now()).toBe('e c');
});

it('files of a later job that never end take no place from an older one', async () => {
  const { read, end, now } = setUp({ own: 2 });
  for (const name of ['x', 'y', 'z']) void read(name, { job: 9 });
  expect(await now()).toBe('x y');
  for (const name of ['a', 'b', 'c']) void read(name, { job: 3 });
  expect(await now()).toBe('x y a b');
  end('a');
  expect(await now()).toBe('x y b c');
  void read('oldest', { job: 1 });
  expect(await now()).toBe('x y b c oldest');
});

it('a file waits for no other partner’s, whichever job is older', async () => {
  const { read, now } = setUp({ own: 2 });
  for (const name of ['a', 'b', 'c', 'd']) void read(name, { partner: 'stalled', job: 1 });
  expect(await now()).toBe('a b');
  for (const name of ['x', 'y', 'z']) void read(name, { partner: 'another', job: 9 });
  expect(await now()).toBe('a b x y');
});

it('a partner’s first file gets a place even while others have all that are shared', async () => {
  const { read, end, now } = setUp({ own: 2, shared: 3, total: 5 });
  for (const partner of ['p', 'q', 'r'])
    for (const n of [1, 2, 3]) void read(`${partner}${n}`, { partner, job: n });
  expect(await now()).toBe('p1 p2 q1 r1');
  void read('s1', { partner: 's' });
  expect(await now()).toBe('p1 p2 q1 r1 s1');
  // Partners that have a place get no further one until few are in use.
  end('p2');
  end('s1');
  expect(await now()).toBe('p1 q1 r1');
});

it('beyond the total, partners take turns; small files do not wait for large ones', async () => {
  const { read, end, now } = setUp({ own: 4, shared: 2, total: 2 });
  for (const n of [1, 2, 3, 4]) void read(`p${n}`, { partner: 'p' });
  for (const n of [1, 2]) void read(`q${n}`, { partner: 'q' });
  void read('r1', { partner: 'r' });
  expect(await now()).toBe('p1 p2');
  void read('small', { partner: 's', size: SMALL });
  expect(await now()).toBe('p1 p2 small');
  end('p1');
  expect(await now()).toBe('p2 small q1');
  end('p2');
  expect(await now()).toBe('small q1 r1');
  end('r1');
  expect(await now()).toBe('small q1 p3');
});

it('many small files share a place', async () => {
  const { read, now } = setUp({ own: 1 });
  for (let n = 0; n < 100; n++) void read(`${n}`, { size: SMALL });
  expect((await now()).split(' ')).toHaveLength(16);
});

it('one that is not wanted any more leaves the queue', async () => {
  const { read, end, now } = setUp({ own: 1 });
  const leaving = new AbortController();
  void read('a');
  const waiting = read('b', { signal: leaving.signal });
  void read('c');
  leaving.abort(new Error('lost'));
  await expect(waiting).rejects.toThrow('lost');
  await expect(read('d', { signal: leaving.signal })).rejects.toThrow('lost');
  end('a');
  expect(await now()).toBe('c');
});

it('in any order of files and ends, a partner that waits is reading, and no more is read than the bounds', async () => {
  const event = fc.oneof(
    fc.record({ partner: fc.integer({ min: 0, max: 4 }), job: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ end: fc.nat() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const limits = { own: 2, shared: 3, total: 11 };
      const { read, end, reading } = setUp(limits);
      const waiting = new Map<string, number>();
      let files = 0;
      for (const one of events) {
        if ('end' in one) {
          const name = reading[one.end % reading.length];
          if (name !== undefined) end(name);
        } else {
          const partner = String(one.partner);
          waiting.set(partner, (waiting.get(partner) ?? 0) + 1);
          void read(`${partner}/${files++}`, { partner, job: one.job }).then(() =>
            waiting.set(partner, waiting.get(partner)! - 1),
          );
        }
        await settled();
        const readers = new Set(reading.map((name) => name.split('/')[0]!));
        for (const [partner, count] of waiting) if (count > 0) expect(readers).toContain(partner);
        expect(reading.length).toBeLessThanOrEqual(limits.total);
      }
    }),
    { numRuns: 50 },
  );
});
