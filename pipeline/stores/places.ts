/**
 * Limits per partner and customer across processes. Each limited document holds a numbered place under a unique index, so only one of two
 * concurrent writes for a place succeeds. There is no separate counter that could drift.
 */
import { randomInt } from 'node:crypto';
import { MongoServerError } from 'mongodb';

export interface Places {
  /** Below the limit of the partner. */
  place: number;
  /** Below the limit of the customer; absent without a customer. */
  customerPlace?: number;
}
export type Held = Places & { customer: string | null };

export interface PlaceLimits {
  perPartner: number;
  perCustomer: number;
}

const DUPLICATE_KEY = 11_000;

/** The fields of the unique index that a write violated. */
export function violatedKey(error: unknown): string[] | undefined {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return undefined;
  return Object.keys(error.keyPattern ?? {});
}

/** A random free place: the lowest would collide with every concurrent write. */
function freePlace(limit: number, held: readonly (number | undefined)[]): number | undefined {
  const isHeld = new Set(held);
  const free = Array.from({ length: limit }, (_, place) => place).filter((place) => !isHeld.has(place));
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

/** Writes with a free place and retries when another write took it; `full` if there is none. */
export async function inFreePlace<T>(
  { customer, limits, held }: { customer: string | null; limits: PlaceLimits; held(): Promise<Held[]> },
  write: (places: Places) => Promise<T>,
): Promise<T | 'full'> {
  for (;;) {
    const all = await held();
    const place = freePlace(
      limits.perPartner,
      all.map(({ place }) => place),
    );
    const ofCustomer = all.filter((held) => held.customer === customer).map((held) => held.customerPlace);
    const customerPlace = customer === null ? undefined : freePlace(limits.perCustomer, ofCustomer);
    if (place === undefined || (customer !== null && customerPlace === undefined)) return 'full';
    try {
      return await write(customerPlace === undefined ? { place } : { place, customerPlace });
    } catch (error) {
      if (!violatedKey(error)) throw error;
    }
  }
}
