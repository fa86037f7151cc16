/** Bytes on disk per device, with indexes: with one key, and for each further key. */
import { spaces } from '../../../schemas/documents.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkSpace } from '../check-counts.ts';
import { deviceBytes } from '../observe-storage.ts';
import { storeSpace } from '../store-space.ts';
import { atMost, type Benchmark } from '../table.ts';

const KEYS = 200;
/** Realistic: attribute ids have grown this large after a while. */
const FIRST_KEY = 10_000;
const SEVERAL = 5;

async function measure(bench: Bench, wanted: number, seed: number) {
  const { db } = bench.stack;
  const each = Math.ceil(wanted / KEYS);
  const devices = each * KEYS;
  const checks: CountCheck[] = [];

  /** Devices spread evenly over the keys. */
  async function bytesPerDevice(space: string, keysPerDevice: number): Promise<number> {
    const before = await deviceBytes(db);
    await storeSpace(bench, {
      space,
      seed,
      numbers: devices,
      keys: Array.from({ length: KEYS }, (_, i) => {
        const [from, to] = [i * each, (i + keysPerDevice) * each];
        const wrapped = [0, Math.max(0, to - devices)] as const;
        return { key: FIRST_KEY + i, ranges: [[from, Math.min(to, devices)] as const, wrapped] };
      }),
    });
    checks.push(await checkSpace(db, space, devices));
    return ((await deviceBytes(db)) - before) / devices;
  }

  const one = await bytesPerDevice(spaces.audience(1_000_001, 1), 1);
  const several = await bytesPerDevice(spaces.audience(1_000_002, 1), SEVERAL);
  return { one, several, further: (several - one) / (SEVERAL - 1), checks };
}

export const storage: Benchmark = {
  name: 'storage',
  async measure({ runOn, sized, seed }) {
    const result = await runOn('storage', (bench) => measure(bench, sized(4_000_000), seed));
    const { one, several, further, checks } = result;
    const compared = {
      what: 'storage of a device: with one key; with five',
      small: `${one.toFixed(1)} bytes`,
      full: `${several.toFixed(1)} bytes`,
    };
    return {
      rows: [
        atMost(compared, one, 22, 'bytes with one key'),
        atMost(compared, further, 4, 'bytes for each further key'),
      ],
      checks,
      details: result,
    };
  },
};
