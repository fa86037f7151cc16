/** Reads the devices of jobs in one slot, from memory and from spills, in parts of bounded size in address order. */
import type { JobMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import { cutByAddress, type InRange, partOfRange, RANGES } from '../../formats/address-ranges.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { nextTurn } from '../../runtime/loop-turn.ts';
import { type Devices, merge } from '../../sets/devices.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import { framedIn } from '../../wire/framed-devices.ts';
import { type GatheredSlot, gatherSlot, type NumberKeys, type SuppressedAmong } from './gather-slot.ts';
import { sinkPoint } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

interface Dependencies {
  spills: Pick<SpillStore, 'read'>;
  verdicts: Pick<VerdictStore, 'passedOf' | 'collapsedOf'>;
  hashDevice: DeviceHash;
}

interface Gathering {
  markers: JobMarker[];
  uncommitted: Uncommitted;
  slot: number;
  /** A power of two, so that no region lies in two parts. */
  parts: number;
  numberKeysOf(marker: JobMarker): NumberKeys;
  /** Which devices of a job are suppressed; absent: none. */
  suppressedOf?(marker: JobMarker): SuppressedAmong;
  /** Called for each job and part. */
  onGathered?(job: number, gathered: GatheredSlot): void;
}

export type GatherParts = ReturnType<typeof createGatherParts>;

export function createGatherParts({ spills, verdicts, hashDevice }: Dependencies) {
  /** A range that is too large is read several times, a part of its addresses each time. */
  return async function* (gathering: Gathering): AsyncGenerator<Devices> {
    const { markers, uncommitted, slot, parts, numberKeysOf, suppressedOf, onGathered } = gathering;
    const size = RANGES / Math.min(parts, RANGES);
    const passes = Math.max(1, Math.ceil(parts / RANGES));
    const held = new Map<number, Held>();
    for (const { job } of markers) {
      const messages = () => uncommitted.of(job, slot);
      const isCut = size < RANGES || uncommitted.hasSpilled(job);
      const cut = async () =>
        (await cutByAddress(messages(), hashDevice)).map((pieces) => () => framedInAll(pieces));
      held.set(job, isCut ? await cut() : [messages]);
    }
    for (let n = 0; n < Math.ceil(RANGES / size) * passes; n++) {
      const from = Math.floor(n / passes) * size;
      const where = passes > 1 ? partOfRange(from, n % passes, passes) : undefined;
      const gathered: Devices[] = [];
      for (const marker of markers) {
        const { job } = marker;
        const files = {
          isPassed: await verdicts.passedOf(marker),
          isCollapsed: await verdicts.collapsedOf(marker),
        };
        const ranges = () => {
          const inMemory = inRanges(held.get(job)!, from, from + size);
          const spilled = uncommitted.hasSpilled(job) ? spills.read(job, slot, from, from + size) : [];
          return both(spilled, inMemory);
        };
        if (parts > 1) await nextTurn();
        sinkPoint('sink:before-gather', job);
        const part = await gatherSlot(marker, files, ranges, numberKeysOf(marker), hashDevice, {
          where,
          suppressedAmong: suppressedOf?.(marker),
        });
        sinkPoint('sink:after-gather', job);
        onGathered?.(job, part);
        gathered.push(part.devices);
      }
      yield merge(gathered);
    }
  };
}

/** By range; a single range if it is not cut. */
type Held = (() => Iterable<ValidatedDevices>)[];

function* inRanges(held: Held, from: number, to: number): Generator<InRange> {
  for (let range = from; range < Math.min(to, held.length); range++)
    yield { range, messages: held[range]!() };
}

function* framedInAll(pieces: Buffer[]): Generator<ValidatedDevices> {
  for (const piece of pieces) yield* framedIn(piece);
}

async function* both<T>(first: AsyncIterable<T> | Iterable<T>, second: Iterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* second;
}
