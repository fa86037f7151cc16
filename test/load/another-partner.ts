/** Another partner that loads small audiences or imports, one after the other, beside other work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator } from '../../deploy/cli/load/generate.ts';
import type { Bench } from './bench-stack.ts';
import { type CountCheck, checkAudience, checkImport } from './check-counts.ts';
import type { Layout } from './partner-calls.ts';
import { createUploader } from './upload.ts';

const ROWS = 1_000;
/** Loaded in turn; each file has its own devices. */
const FILES = 20;
const everyMs = 20;
const pathOf = (file: number) => `small/${file}.csv`;

export interface SmallLoad {
  readonly layout: Layout;
  /** From POST to done. */
  readonly seconds: number;
}

export interface Meanwhile {
  /** Loads that began while the work ran. */
  readonly loads: readonly SmallLoad[];
  /** Duration of the slowest load in seconds. */
  readonly slowest: number;
  readonly checks: readonly CountCheck[];
}

interface AnotherOptions {
  /** Used in turn. */
  readonly layouts?: readonly Layout[];
  /** Pause before each load. */
  readonly pauseMs?: number;
}

export async function prepareAnother(
  { stack, signal }: Bench,
  { layouts = ['b'], pauseMs = 0 }: AnotherOptions = {},
) {
  const { partner, calls } = await stack.anotherPartner();
  const keys = (await stack.attributes(1, partner)).map(String);
  const generator = createGenerator({ seed: 99, duplicates: 0, keys });
  const uploader = createUploader(partner);
  for (let file = 0; file < FILES; file++)
    await uploader.put(pathOf(file), generator.nextFile({ rows: ROWS }).bytes);
  uploader.close();
  const imported = new Set<number>();
  let next = 0;

  async function loadNext(): Promise<SmallLoad & { checks: CountCheck[] }> {
    const layout = layouts[next % layouts.length]!;
    const file = Math.floor(next++ / layouts.length) % FILES;
    if (layout === 'a') imported.add(file);
    const { record, seconds } = await calls.load(layout, pathOf(file), false, { everyMs, signal });
    const check = layout === 'a' ? checkImport : checkAudience;
    return { layout, seconds, checks: check(record, ROWS, ROWS) };
  }

  return {
    /** Devices that this partner has imported into the marketplace. */
    importedDevices: () => imported.size * ROWS,

    /** Loads while the work runs, starting with `begun`. The work can ask how many loads have ended. */
    async during<T>(
      work: (ended: () => number) => Promise<T>,
      begun: Promise<void> = Promise.resolve(),
    ): Promise<{ result: T; meanwhile: Meanwhile }> {
      const loads: SmallLoad[] = [];
      const checks: CountCheck[] = [];
      let isDone = false;
      const working = work(() => loads.length).finally(() => {
        isDone = true;
      });
      const loading = (async () => {
        await Promise.race([begun, working]);
        while (!isDone) {
          if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
          const { checks: found, ...load } = await loadNext();
          loads.push(load);
          checks.push(...found);
        }
      })();
      const [result] = await Promise.all([working, loading]);
      const slowest = Math.max(...loads.map(({ seconds }) => seconds));
      return { result, meanwhile: { loads, slowest, checks } };
    },
  };
}
