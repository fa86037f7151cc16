/** One prefix against another, each on a fresh service: few and many attributes, few and many rows. */
import { count, megabytes } from '../format.ts';
import { atLeast, atMost, type Benchmark, type BenchmarkContext } from '../table.ts';
import { pipelinePeakMb } from '../watch-run.ts';
import { measurePrefix, type PrefixOptions, type PrefixResult } from './one-prefix.ts';

const preset = { files: 8, duplicates: 0.2, layout: 'b', keys: 4, gzip: false, baseline: false } as const;

const loadPrefix = (
  { runOn, seed }: BenchmarkContext,
  options: Pick<PrefixOptions, 'rows'> & Partial<PrefixOptions>,
): Promise<PrefixResult> => runOn('prefix', (bench) => measurePrefix(bench, { ...preset, seed, ...options }));

const rate = ({ rowsPerSecond }: PrefixResult) => `${count(rowsPerSecond)} rows/s`;
const rates = (what: string, small: PrefixResult, full: PrefixResult) => ({
  what,
  small: rate(small),
  full: rate(full),
});

export const attributes: Benchmark = {
  name: 'attributes',
  async measure(context) {
    const rows = context.sized(1_000_000);
    const few = await loadPrefix(context, { rows, layout: 'a', keys: 20 });
    const many = await loadPrefix(context, { rows, layout: 'a', keys: context.sized(20_000) });
    const compared = rates('import of 1 M rows: over 20 attributes; over 20,000', few, many);
    return {
      rows: [atLeast(compared, many.rowsPerSecond / few.rowsPerSecond, 0.5)],
      checks: [...few.checks, ...many.checks],
      details: { few, many },
    };
  },
};

export const rows: Benchmark = {
  name: 'rows',
  async measure(context) {
    const few = await loadPrefix(context, { rows: context.sized(4_000_000) });
    const many = await loadPrefix(context, { rows: context.sized(100_000_000), files: 200 });
    const peaks = [few, many].map(({ use }) => pipelinePeakMb(use));
    const memory = {
      what: 'the same, peak memory of the pipeline',
      small: megabytes(peaks[0]! * 1e6),
      full: megabytes(peaks[1]! * 1e6),
    };
    return {
      rows: [
        atLeast(
          rates('one prefix: 4 M rows in 8 files; 100 M rows in 200 files', few, many),
          many.rowsPerSecond / few.rowsPerSecond,
          0.8,
        ),
        atMost(memory, peaks[1]!, 700, 'MB'),
      ],
      checks: [...few.checks, ...many.checks],
      details: { few, many },
    };
  },
};
