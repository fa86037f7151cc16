/** Identifiers crafted to collide under a public hash (MurmurHash3) slow nothing down. */
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { formatIdentifier } from '../../formats/identifiers.ts';
import { collidingDevices } from '../../formats/murmur-collisions.ts';
import { prepareAnother } from '../another-partner.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience } from '../check-counts.ts';
import { count, seconds } from '../format.ts';
import { atLeast, atMost, type Benchmark } from '../table.ts';
import { createUploader, fileName, spread } from '../upload.ts';

/** The two loads alternate, because a shared machine may be half as fast a minute later. */
const ROUNDS = 3;
const FILES = 8;
const kinds = ['random', 'colliding'] as const;
type Kind = (typeof kinds)[number];

function collidingFile(from: number, rows: number): Buffer {
  const devices = collidingDevices(rows, undefined, from);
  return Buffer.from(
    Array.from({ length: rows }, (_, n) => `${formatIdentifier(devices, 16 * n)},visit\n`).join(''),
  );
}

async function upload({ stack, progress }: Bench, rows: number, seed: number): Promise<void> {
  const uploader = createUploader(stack.partner);
  const generator = createGenerator({ seed, duplicates: 0, keys: ['visit'] });
  let from = 0;
  for (const [number, some] of spread(rows, FILES).entries()) {
    await uploader.put(`random/${fileName(number, false)}`, generator.nextFile({ rows: some }).bytes);
    await uploader.put(`colliding/${fileName(number, false)}`, collidingFile(from, some));
    from += some;
    progress.live(`uploaded ${number + 1} of ${FILES} files of each kind`);
  }
  uploader.close();
}

async function measureCollisions(bench: Bench, rows: number, seed: number) {
  await upload(bench, rows, seed);
  const another = await prepareAnother(bench);
  const checks: CountCheck[] = [];
  const rates: Record<Kind, number[]> = { random: [], colliding: [] };
  const others: Record<Kind, number[]> = { random: [], colliding: [] };
  // The first round is a warm-up.
  for (let round = 0; round <= ROUNDS; round++)
    for (const kind of kinds) {
      const { result, meanwhile } = await another.during(() =>
        bench.stack.calls.load('b', `${kind}/`, false, { everyMs: 20, signal: bench.signal }),
      );
      checks.push(...checkAudience(result.record, rows, rows), ...meanwhile.checks);
      bench.progress.step(
        `${kind}: ${count(rows / result.seconds)} rows/s; ${meanwhile.loads.length} small loads, slowest ${seconds(meanwhile.slowest)}`,
      );
      if (round === 0) continue;
      rates[kind].push(rows / result.seconds);
      others[kind].push(meanwhile.slowest);
    }
  return { rates, others, checks };
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

export const collisions: Benchmark = {
  name: 'collisions',
  async measure({ runOn, sized, seed }) {
    const rows = sized(1_100_000);
    const result = await runOn('collisions', (bench) => measureCollisions(bench, rows, seed));
    const rate = (kind: Kind) => median(result.rates[kind]);
    const slowest = (kind: Kind) => median(result.others[kind]);
    const what = 'audience, 1.1 M rows in 8 files: random; all with one MurmurHash3';
    return {
      rows: [
        atLeast(
          { what, small: `${count(rate('random'))} rows/s`, full: `${count(rate('colliding'))} rows/s` },
          rate('colliding') / rate('random'),
          0.5,
        ),
        atMost(
          {
            what: `${what}: the slowest load of 1,000 rows of another partner meanwhile`,
            small: seconds(slowest('random')),
            full: seconds(slowest('colliding')),
          },
          slowest('colliding') / slowest('random'),
          1.5,
        ),
      ],
      checks: result.checks,
      details: result,
    };
  },
};
