/** Random sequences of partners' requests. */
import fc from 'fast-check';
import { DEVICES, type FileSpec, fileSpec } from './file-spec.ts';

/** Paths by content, so that most jobs find files that they can load; some jobs look elsewhere on purpose. */
const areas = {
  byId: ['i/1.csv', 'i/2.csv', 'i/3.tsv', 'i.csv.gz'],
  byForeignKey: ['f/1.csv.gz', 'f/2.csv.gz', 'f/g/3.gz', 'f.csv'],
  audience: ['p/1.csv', 'p/2.csv.gz', 'p/q/3.txt', 'p.csv'],
};
type Area = keyof typeof areas;
const anywhere = [...Object.values(areas).flat(), 'i/', 'f/', 'p/', 'i', 'f', 'p', 'missing.csv', 'nothing/'];

export type Job =
  | { kind: 'import'; target: string; keyType: 0 | 1; compressed: boolean | null }
  | { kind: 'create'; target: string }
  | { kind: 'append'; audience: number; target: string }
  | { kind: 'clear'; audience: number }
  | { kind: 'delete'; attributes: number[] }
  | { kind: 'privacy'; type: 'delete' | 'restore'; forAll: boolean; first: number; count: number }
  | { kind: 'attribute' };

/** Uploads and some clears while nothing runs, then all jobs at once, so that the input of each job is unambiguous. */
export interface Round {
  uploads: { path: string; byId: boolean; file: FileSpec }[];
  clears: number[];
  jobs: (Job & { partner: 0 | 1 })[];
}

const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: other });
const target = (area: Area, prefix: string) =>
  mostly(fc.constantFrom(...areas[area], prefix, prefix), fc.constantFrom(...anywhere));
const compressed = (usual: boolean) =>
  mostly<boolean | null>(fc.constant(usual), fc.constantFrom(null, true, false));
const partner = fc.constantFrom(0 as const, 0 as const, 1 as const);
/** A single file's name shows whether it is compressed; for a prefix, the request says it. */
const imports = (area: Area, prefix: string, keyType: 0 | 1, packed: boolean) =>
  fc
    .record({
      kind: fc.constant('import' as const),
      partner,
      target: target(area, prefix),
      keyType: mostly(fc.constant(keyType), fc.constantFrom(0 as const, 1 as const)),
      told: mostly(fc.constant(true), fc.boolean()),
      compressed: compressed(packed),
    })
    .map(({ told, ...job }) =>
      told && areas[area].includes(job.target) ? { ...job, compressed: null } : job,
    );
const job = fc.oneof(
  { weight: 2, arbitrary: imports('byId', 'i/', 0, false) },
  { weight: 2, arbitrary: imports('byForeignKey', 'f/', 1, true) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('create' as const), partner, target: target('audience', 'p/') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      partner,
      target: target('audience', 'p/'),
      audience: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      partner,
      attributes: fc.uniqueArray(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('clear' as const), partner, audience: fc.nat({ max: 3 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('privacy' as const),
      partner,
      type: fc.constantFrom('delete' as const, 'delete' as const, 'restore' as const),
      forAll: fc.boolean(),
      first: fc.nat({ max: DEVICES }),
      count: fc.constantFrom(1, 20, 400),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('attribute' as const), partner }) },
);
const uploadsTo = (area: Area) =>
  fc
    .record({
      path: fc.constantFrom(...areas[area]),
      file: fileSpec,
      mixedUp: fc.integer({ min: 0, max: 14 }),
    })
    .map(({ path, file, mixedUp }) => ({
      path,
      byId: (area === 'byId') !== (mixedUp === 0),
      file: {
        ...file,
        layout: (area === 'audience') !== (mixedUp === 1) ? 'audience' : 'attributes',
      } as FileSpec,
    }));
const upload = fc.oneof(uploadsTo('byId'), uploadsTo('byForeignKey'), uploadsTo('audience'));
const round = (fewestUploads: number): fc.Arbitrary<Round> =>
  fc.record({
    uploads: fc.array(upload, { minLength: fewestUploads, maxLength: fewestUploads + 4 }),
    clears: fc.array(fc.nat({ max: 3 }), { maxLength: 1 }),
    jobs: fc.array(job, { minLength: 1, maxLength: 7 }),
  });
export const sequence: fc.Arbitrary<Round[]> = fc
  .tuple(round(9), fc.array(round(0), { maxLength: 3 }))
  .map(([first, later]) => [first, ...later]);
