/**
 * The dictionary of each generation of an audience: event values, numbered in the order of its loads. It keeps the first 10,000; later
 * values become OTHER_EVENTS. Numbers have no gaps and never change, so a value without a number in a dictionary that is not full always
 * means a stale read.
 */
import { LRUCache } from 'lru-cache';
import { type Db, MongoBulkWriteError } from 'mongodb';
import { collections, type EventValueDocument } from '../../schemas/documents.ts';
import { OTHER_EVENTS } from '../formats/parse-rows.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { removeInSteps, StaleRead } from './bulk.ts';

export type EventValueStore = ReturnType<typeof createEventValueStore>;

/** Number of devices without an event. */
export const NO_EVENT_NUMBER = 0;
/** The number of OTHER_EVENTS, in every dictionary. */
export const OTHER_NUMBER = 1;
const MAX_VALUES = 10_000;
const LAST_NUMBER = OTHER_NUMBER + MAX_VALUES;
const MAX_CACHED = 20_000;
const FIND_AT_ONCE = 5_000;

/** Whether the value needs a number of its own. */
export const isNumbered = (value: string): boolean => value !== '' && value !== OTHER_EVENTS;

export function createEventValueStore(db: Db, lastNumber = LAST_NUMBER) {
  const values = db.collection<EventValueDocument>(collections.eventValues);
  const numbers = new LRUCache<string, number>({ max: MAX_CACHED });
  const idOf = (audience: number, generation: number, value: string) => `${audience}.${generation}.${value}`;

  /** Numbers by id. The slots of a load look for the same values at the same time. */
  const findIds = groupCommit(async (wanted: string[][]): Promise<Map<string, number>[]> => {
    const found = new Map<string, number>();
    const unknown = new Set<string>();
    for (const id of wanted.flat()) {
      const number = numbers.get(id);
      if (number === undefined) unknown.add(id);
      else found.set(id, number);
    }
    for (const group of inGroups(unknown, within({ count: FIND_AT_ONCE }))) {
      for await (const { _id, number } of values.find(
        { _id: { $in: group } },
        { projection: { number: 1 } },
      )) {
        found.set(_id, number);
        numbers.set(_id, number);
      }
    }
    return wanted.map(() => found);
  });

  /** The numbers of the values that are in the dictionary. */
  async function find(audience: number, generation: number, wanted: string[]): Promise<Map<string, number>> {
    if (wanted.length === 0) return new Map();
    const found = await findIds(wanted.map((value) => idOf(audience, generation, value)));
    const numberOf = (value: string) => found.get(idOf(audience, generation, value));
    return new Map(
      wanted.flatMap((value) => {
        const number = numberOf(value);
        return number === undefined ? [] : [[value, number]];
      }),
    );
  }

  async function lastOf(audience: number, generation: number): Promise<number> {
    const options = { sort: { number: -1 }, projection: { number: 1 } } as const;
    return (await values.findOne({ audience, generation }, options))?.number ?? OTHER_NUMBER;
  }

  /** Ordered, so that a crash in the middle leaves no gap. */
  const insert = groupCommit(async (groups: EventValueDocument[][]) => {
    await values.insertMany(groups.flat(), { ordered: true }).catch(reportTaken);
  });

  return {
    /**
     * Numbers new values while the dictionary has room; false if it is full. Two dispatchers doing so for the same load assign the same
     * numbers: the second gets a duplicate key and reads again.
     */
    async assign(audience: number, generation: number, given: Iterable<string>): Promise<boolean> {
      const wanted = [...new Set(given)].filter(isNumbered);
      const [known, last] = await Promise.all([
        find(audience, generation, wanted),
        lastOf(audience, generation),
      ]);
      const unknown = wanted.filter((value) => !known.has(value));
      if (unknown.length === 0) return true;
      const fitting = unknown.slice(0, lastNumber - last);
      const documents = fitting.map((value, i): EventValueDocument => {
        return { _id: idOf(audience, generation, value), audience, generation, number: last + 1 + i, value };
      });
      if (documents.length > 0) await insert(documents);
      return last + unknown.length < lastNumber;
    },

    /** For a load whose values have been assigned. '' has no number. */
    async numbersOf(
      audience: number,
      generation: number,
      given: Iterable<string>,
    ): Promise<Map<string, number>> {
      const all = [...new Set(given)];
      const found = await find(audience, generation, all.filter(isNumbered));
      const rest = all.filter((value) => value !== '' && !found.has(value));
      if (rest.some(isNumbered) && (await lastOf(audience, generation)) < lastNumber)
        throw new StaleRead(`not all event values of audience ${audience} are visible yet`);
      for (const value of rest) found.set(value, OTHER_NUMBER);
      return found;
    },

    /** The whole dictionary. */
    async valuesOf(audience: number, generation: number): Promise<Map<number, string>> {
      const found = await values
        .find({ audience, generation })
        .sort({ number: 1 })
        .project<Pick<EventValueDocument, 'number' | 'value'>>({ _id: 0, number: 1, value: 1 })
        .toArray();
      return new Map([
        [OTHER_NUMBER, OTHER_EVENTS],
        ...found.map(({ number, value }) => [number, value] as const),
      ]);
    },

    /** Removes the dictionaries of cleared generations. */
    removeBelow: (audience: number, generation: number, signal?: AbortSignal) =>
      removeInSteps(values, { audience, generation: { $lt: generation } }, signal),
  };
}

function reportTaken(error: unknown): never {
  if (error instanceof MongoBulkWriteError && error.code === 11000)
    throw new StaleRead('another dispatcher is numbering the same event values');
  throw error;
}
