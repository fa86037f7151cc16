import { expect, it } from 'vitest';
import { createPlaces } from '../../pipeline/stages/split/places.ts';

const LARGE = 50_000_000;
const { signal: never } = new AbortController();

function setUp(count: number) {
  const places = createPlaces(count);
  const reading: string[] = [];
  const ends = new Map<string, () => void>();
  const read = (name: string, job: number, size = LARGE, signal = never) =>
    places.use({ job, size }, signal, async () => {
      reading.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      reading.splice(reading.indexOf(name), 1);
    });
  /** What is read once everything that can begin has begun. */
  const now = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return reading.join(' ');
  };
  return { read, end: (name: string) => ends.get(name)!(), now };
}

it('reads as many files as there are places, in the order of their jobs', async () => {
  const { read, end, now } = setUp(2);
  for (const [name, job] of [
    ['a', 5],
    ['b', 5],
    ['c', 7],
    ['d', 5],
    ['e', 6],
  ] as const)
    void read(name, job);
  expect(await now()).toBe('a b');
  end('a');
  expect(await now()).toBe('b d');
  end('b');
  expect(await now()).toBe('d e');
  end('d');
  expect(await now()).toBe('e c');
});

it('files of a later job that never end take no place from an older one', async () => {
  const { read, end, now } = setUp(2);
  for (const name of ['x', 'y', 'z']) void read(name, 9);
  expect(await now()).toBe('x y');
  for (const name of ['a', 'b', 'c']) void read(name, 3);
  expect(await now()).toBe('x y a b');
  end('a');
  expect(await now()).toBe('x y b c');
  void read('oldest', 1);
  expect(await now()).toBe('x y b c oldest');
});

it('many small files share a place', async () => {
  const { read, now } = setUp(1);
  for (let n = 0; n < 100; n++) void read(`${n}`, 1, 1_000);
  expect((await now()).split(' ')).toHaveLength(64);
});

it('one that is not wanted any more leaves the queue', async () => {
  const { read, end, now } = setUp(1);
  const leaving = new AbortController();
  void read('a', 1);
  const waiting = read('b', 1, LARGE, leaving.signal);
  void read('c', 1);
  leaving.abort(new Error('lost'));
  await expect(waiting).rejects.toThrow('lost');
  await expect(read('d', 1, LARGE, leaving.signal)).rejects.toThrow('lost');
  end('a');
  expect(await now()).toBe('c');
});
