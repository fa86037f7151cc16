/** The same rows by other means, in the same run: DuckDB on the same machine, and a document a row in MongoDB. */
import { checkCount } from '../check-counts.ts';
import { measureDuckDb } from '../duckdb.ts';
import { count } from '../format.ts';
import { atLeast, type Benchmark } from '../table.ts';
import { keysOf, measurePrefix, type PrefixOptions } from './one-prefix.ts';

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
    const { load, duckdb } = await runOn('alternatives', async (bench) => {
      const load = await measurePrefix(bench, options);
      const keys = await keysOf(bench, 'b', options.keys);
      const duckdb = await measureDuckDb({ seed, duplicates: 0.2, keys }, options, bench.signal);
      return { load, duckdb };
    });
    const what = 'audience, 4 M rows in 8 files, 20 % duplicates';
    const full = `${count(load.rowsPerSecond)} rows/s`;
    const duckDbRate = options.rows / duckdb.seconds;
    const baselineRate = load.baseline!.rowsPerSecond;
    return {
      rows: [
        atLeast(
          {
            what: `${what}: DuckDB, insert or ignore with a primary key`,
            small: `${count(duckDbRate)} rows/s`,
            full,
          },
          load.rowsPerSecond / duckDbRate,
          1,
        ),
        atLeast(
          { what: `${what}: bulk upserts`, small: `${count(baselineRate)} rows/s`, full },
          load.rowsPerSecond / baselineRate,
          35,
        ),
      ],
      checks: [...load.checks, checkCount('devices in DuckDB', load.devices, duckdb.devices)],
      details: { load, duckdb },
    };
  },
};
