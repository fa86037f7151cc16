/** The same rows by other means in the same run: DuckDB on the same machine, and one document per row in MongoDB. */
import { checkCount } from '../check-counts.ts';
import { type DuckDbLoad, measureDuckDb } from '../duckdb.ts';
import { count } from '../format.ts';
import { atLeast, type Benchmark } from '../table.ts';
import { keysOf, measurePrefix, type PrefixOptions, type PrefixResult } from './one-prefix.ts';

/** All three alternate, each time on a new stack, because a shared machine may be half as fast a minute later. */
const ROUNDS = 3;

interface Round {
  load: PrefixResult;
  duckdb: DuckDbLoad;
}

const rowsPerSecond = ({ load, duckdb }: Round) => ({
  ours: load.rowsPerSecond,
  duckdb: load.options.rows / duckdb.seconds,
  upserts: load.baseline!.rowsPerSecond,
});

function compared(rounds: readonly Round[], other: 'duckdb' | 'upserts') {
  const ratio = (round: Round) => rowsPerSecond(round).ours / rowsPerSecond(round)[other];
  const middle = rounds.toSorted((a, b) => ratio(a) - ratio(b))[Math.floor(rounds.length / 2)]!;
  const rates = rowsPerSecond(middle);
  return {
    small: `${count(rates[other])} rows/s`,
    full: `${count(rates.ours)} rows/s`,
    ratio: ratio(middle),
  };
}

export const alternatives: Benchmark = {
  name: 'alternatives',
  async measure({ runOn, sized, seed }) {
    const options: PrefixOptions = {
      rows: sized(4_000_000),
      files: 8,
      duplicates: 0.2,
      layout: 'b',
      keys: 4,
      gzip: false,
      seed,
      baseline: true,
    };
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round++)
      rounds.push(
        await runOn(`alternatives-${round}`, async (bench) => {
          const load = await measurePrefix(bench, options);
          const keys = await keysOf(bench, 'b', options.keys);
          const duckdb = await measureDuckDb({ seed, duplicates: 0.2, keys }, options, bench.signal);
          return { load, duckdb };
        }),
      );
    const what = `audience, 4 M rows in 8 files, 20 % duplicates, median of ${ROUNDS} rounds`;
    const { ratio: timesDuckDb, ...duckdb } = compared(rounds, 'duckdb');
    const { ratio: timesUpserts, ...upserts } = compared(rounds, 'upserts');
    return {
      rows: [
        atLeast({ what: `${what}: DuckDB, insert or ignore with a primary key`, ...duckdb }, timesDuckDb, 1),
        atLeast({ what: `${what}: bulk upserts`, ...upserts }, timesUpserts, 35),
      ],
      checks: rounds.flatMap(({ load, duckdb }) => [
        ...load.checks,
        checkCount('devices in DuckDB', load.devices, duckdb.devices),
      ]),
      details: rounds,
    };
  },
};
