/** All benchmarks with targets, in the order of measurement. */
import { alternatives } from './scenarios/alternatives.ts';
import { append } from './scenarios/append.ts';
import { audience } from './scenarios/audience.ts';
import { collisions } from './scenarios/collisions.ts';
import { composition } from './scenarios/composition.ts';
import { history } from './scenarios/history.ts';
import { files } from './scenarios/many-files.ts';
import { neighbours } from './scenarios/neighbours.ts';
import { pauses } from './scenarios/pauses.ts';
import { attributes, rows } from './scenarios/prefixes.ts';
import { privacy } from './scenarios/privacy.ts';
import { clear, deletion } from './scenarios/removals.ts';
import { stages } from './scenarios/stages.ts';
import { storage } from './scenarios/storage.ts';
import type { Benchmark } from './table.ts';

/** How the cost of an operation grows with the stored data or with the size of a request. */
export const growthBenchmarks: readonly Benchmark[] = [
  audience,
  append,
  attributes,
  deletion,
  clear,
  files,
  rows,
  history,
  composition,
  storage,
];
export const allBenchmarks: readonly Benchmark[] = [
  alternatives,
  ...growthBenchmarks,
  ...neighbours,
  collisions,
  stages,
  pauses,
  privacy,
];
