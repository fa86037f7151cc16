import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StaleRead } from '../../pipeline/stores/bulk.ts';
import { createEventValueStore, OTHER_NUMBER } from '../../pipeline/stores/event-values.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { collections } from '../../schemas/documents.ts';
import { createGate, openDatabase } from '../sets/database.ts';
import { commandsOf } from '../support/command-log.ts';

const database = openDatabase();
beforeAll(() => ensureIndexes(database.db));

/** Each test has its own audience, whose dictionary has room for ten values. */
let audience = 0;
beforeEach(() => void audience++);
/** Like a new process: nothing is cached. */
const store = () => createEventValueStore(database.db, OTHER_NUMBER + 10);
const values = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `value ${from + i}`);
const dictionary = async (generation = 1) => [...(await store().valuesOf(audience, generation))];
const numbered = (given: string[]) => given.map((value, i) => [i + 2, value]);
const other = [1, '(other)'];

describe('values', () => {
  it('are numbered from 2 on in their order; nothing and (other) are not', async () => {
    await store().assign(audience, 1, ['b', '', 'a', '(other)', 'b']);
    await store().assign(audience, 1, ['c', 'a']);
    expect(await dictionary()).toEqual([other, [2, 'b'], [3, 'a'], [4, 'c']]);
    const numbers = await store().numbersOf(audience, 1, ['', 'a', 'c', '(other)']);
    expect(numbers).toEqual(new Map(Object.entries({ a: 3, c: 4, '(other)': 1 })));
  });

  it('that come when the dictionary is full are (other), whatever is assigned later', async () => {
    expect(await store().assign(audience, 1, values(0, 8))).toBe(true);
    expect(await store().assign(audience, 1, values(6, 13))).toBe(false);
    expect(await store().assign(audience, 1, values(11, 12))).toBe(false);
    expect(await dictionary()).toEqual([other, ...numbered(values(0, 10))]);
    const numbers = await store().numbersOf(audience, 1, ['value 9', 'value 10', 'value 12']);
    expect([...numbers.values()]).toEqual([11, OTHER_NUMBER, OTHER_NUMBER]);
  });

  it('are any text, and only the same text is the same value', async () => {
    const given = ['$a', 'a.b', ' a', 'a', 'A', 'ä', 'a\u0308', '1.a', 'é'.repeat(128)];
    await store().assign(audience, 1, given);
    expect((await dictionary()).slice(1)).toEqual(numbered(given));
    await store().assign(audience, 11, ['a']);
    expect(await dictionary(11)).toEqual([other, [2, 'a']]);
  });

  it('without a number in a dictionary with room are a stale read, never (other)', async () => {
    await store().assign(audience, 1, values(0, 3));
    await expect(store().numbersOf(audience, 1, ['value 0', 'value 3'])).rejects.toBeInstanceOf(StaleRead);
    const one = store();
    await expect(one.numbersOf(audience, 1, ['value 3'])).rejects.toBeInstanceOf(StaleRead);
    await store().assign(audience, 1, ['value 3']);
    expect([...(await one.numbersOf(audience, 1, ['value 3'])).values()]).toEqual([5]);
  });

  it('of a cleared generation are removed, and no others', async () => {
    for (const generation of [1, 2]) await store().assign(audience, generation, values(0, 3));
    await store().removeBelow(audience, 2);
    expect([await dictionary(1), await dictionary(2)]).toEqual([[other], [other, ...numbered(values(0, 3))]]);
  });
});

it('the slots of a load look for its values in a few commands', async () => {
  const given = values(0, 5);
  await store().assign(audience, 1, given);
  const one = store();
  const commands = await commandsOf(database.db, () =>
    Promise.all(Array.from({ length: 16 }, () => one.numbersOf(audience, 1, given))),
  );
  expect(commands).toHaveLength(1);
});

describe('two dispatchers', () => {
  async function assignAll(loads: string[][]): Promise<void> {
    const own = store();
    for (const load of loads) {
      for (let isDone = false; !isDone; ) {
        isDone = await own.assign(audience, 1, load).then(
          () => true,
          (error) => {
            if (!(error instanceof StaleRead)) throw error;
            return false;
          },
        );
      }
    }
  }

  it('that number the same loads at the same time give the numbers that one alone would', async () => {
    const loads = [values(0, 4), values(2, 7), values(5, 14), values(1, 20)];
    await Promise.all([assignAll(loads), assignAll(loads), assignAll(loads)]);
    expect(await dictionary()).toEqual([other, ...numbered(values(0, 10))]);
  });

  it('one that wakes up behind the other’s next load changes nothing', async () => {
    const gate = createGate();
    const collection = database.db.collection(collections.eventValues);
    const insert = collection.insertMany.bind(collection);
    const frozen = Object.assign(Object.create(database.db), {
      collection: () =>
        Object.assign(collection, {
          insertMany: async (...given: Parameters<typeof insert>) => {
            await gate.wait();
            return insert(...given);
          },
        }),
    });
    const late = createEventValueStore(frozen, OTHER_NUMBER + 10).assign(audience, 1, values(0, 3));
    await gate.reached;
    await assignAll([values(0, 3), values(3, 6)]);
    gate.open();
    await expect(late).rejects.toBeInstanceOf(StaleRead);
    expect(await dictionary()).toEqual([other, ...numbered(values(0, 6))]);
  });

  it('one that died in the middle of a load: the next one goes on with it', async () => {
    await store().assign(audience, 1, values(0, 2));
    await store().assign(audience, 1, values(0, 5));
    expect(await dictionary()).toEqual([other, ...numbered(values(0, 5))]);
  });
});
