/**
 * Limits by partner and by customer that hold across processes. Whatever is limited holds a numbered place under a unique index: of two
 * concurrent writes for one place, one succeeds. There is no counter beside the documents that could drift from them.
 */
import { randomInt } from 'node:crypto';
import { MongoServerError } from 'mongodb';

export interface Places {
  /** Below the limit of the partner. */
  place: number;
  /** Below the limit of the customer; absent: it belongs to no customer. */
  customerPlace?: number;
}
export type Held = Places & { customer: string | null };

export interface PlaceLimits {
  perPartner: number;
  perCustomer: number;
}

const DUPLICATE_KEY = 11_000;

/** The fields of the unique index that a write has violated. */
export function violatedKey(error: unknown): string[] | undefined {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return undefined;
  return Object.keys(error.keyPattern ?? {});
}

/** Any free one: the lowest would be everybody's choice. */
function freePlace(limit: number, held: readonly (number | undefined)[]): number | undefined {
  const isHeld = new Set(held);
  const free = Array.from({ length: limit }, (_, place) => place).filter((place) => !isHeld.has(place));
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

/** Writes with free places, again for as long as others are faster; `full` if there are none. */
export async function inFreePlace<T>(
  { customer, limits, held }: { customer: string | null; limits: PlaceLimits; held(): Promise<Held[]> },
  write: (places: Places) => Promise<T>,
): Promise<T | 'full'> {
  for (;;) {
    const all = await held();
    const place = freePlace(
      limits.perPartner,
      all.map((one) => one.place),
    );
    const ofCustomer = all.filter((one) => one.customer === customer).map((one) => one.customerPlace);
    const customerPlace = customer === null ? undefined : freePlace(limits.perCustomer, ofCustomer);
    if (place === undefined || (customer !== null && customerPlace === undefined)) return 'full';
    try {
      return await write(customerPlace === undefined ? { place } : { place, customerPlace });
    } catch (error) {
      if (!violatedKey(error)) throw error;
    }
  }
}
