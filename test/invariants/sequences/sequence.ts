/** Sequences of what partners do, and their run on the service and the oracle side by side. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { PartnerDocument } from '../../../schemas/documents.ts';
import type { Driver } from '../../support/driver.ts';
import { createOracle, type Oracle } from '../../support/oracle.ts';
import { type FileSpec, fileSpec, writeFile } from './file-spec.ts';

/** Where files go by what is in them, so that most jobs find what they can load; the rest is mixed up on purpose. */
const areas = {
  byId: ['i/1.csv', 'i/2.csv', 'i/3.tsv', 'i.csv.gz'],
  byForeignKey: ['f/1.csv.gz', 'f/2.csv.gz', 'f/g/3.gz', 'f.csv'],
  audience: ['p/1.csv', 'p/2.csv.gz', 'p/q/3.txt', 'p.csv'],
};
type Area = keyof typeof areas;
const anywhere = [...Object.values(areas).flat(), 'i/', 'f/', 'p/', 'i', 'f', 'p', 'missing.csv', 'nothing/'];
const foreignKeys = ['seg,ment', 'über|key', undefined, 'say "hi"', 'a;b', '__proto__', '007'];

export type Job =
  | { kind: 'import'; target: string; keyType: 0 | 1; compressed: boolean | null }
  | { kind: 'create'; target: string }
  | { kind: 'append'; audience: number; target: string }
  | { kind: 'delete'; attributes: number[] }
  | { kind: 'attribute' };

/** Uploads and clears while nothing runs, then jobs all at once: so it is plain what each of them must find. */
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
/** A single file's own name says whether it is compressed; a prefix has to be told. */
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

export interface Run {
  oracle: Oracle;
  jobs: number[];
}

/** Runs the sequence to its end, with partners of its own; `check` is called after each round. */
export async function runSequence(
  driver: Driver,
  rounds: Round[],
  check: (run: Run) => Promise<void>,
): Promise<Run> {
  const oracle = createOracle();
  const tag = randomBytes(4).toString('hex');
  const partners = [await driver.partner(), await driver.partner()] as const;
  const owned = [[], []] as [string[], string[]];
  const attributes = [[], []] as [number[], number[]];
  const audiences = [[], []] as [number[], number[]];
  const jobs: number[] = [];

  async function addAttribute(index: 0 | 1): Promise<void> {
    const foreignKey = foreignKeys[attributes[index].length];
    const id = await driver.attribute(partners[index], foreignKey);
    oracle.attribute(id, partners[index], foreignKey);
    attributes[index].push(id);
    owned[index].push(String(id), ...(foreignKey === undefined ? [] : [foreignKey]));
  }
  for (const index of [0, 0, 0, 1] as const) await addAttribute(index);

  async function put(index: 0 | 1, { path, byId, file }: Round['uploads'][number]): Promise<void> {
    const owner: PartnerDocument = partners[index];
    const unknownKey = owned[index === 0 ? 1 : 0][0]!;
    const keys = owned[index].filter((key) => attributes[index].map(String).includes(key) === byId);
    const bytes = writeFile(file, { tag, keys, unknownKey, path });
    await driver.upload(owner, path, bytes);
    oracle.upload(owner.prefix + path, bytes);
  }

  async function queue(one: Round['jobs'][number]): Promise<void> {
    const owner = partners[one.partner];
    const own = audiences[one.partner];
    if (one.kind === 'attribute') return addAttribute(one.partner);
    if (one.kind === 'delete') {
      const of = [
        ...new Set(one.attributes.map((n) => attributes[one.partner][n % attributes[one.partner].length]!)),
      ];
      const id = await driver.delete(owner, of);
      oracle.delete(id, of);
      jobs.push(id);
    } else if (one.kind === 'import') {
      const id = await driver.import(owner, one.target, { keyType: one.keyType, compressed: one.compressed });
      oracle.import(id, owner, one.target, one);
      jobs.push(id);
    } else if (one.kind === 'create' || own.length === 0) {
      const id = await driver.createAudience(owner, one.target);
      oracle.load(id, id, owner, one.target);
      own.push(id);
      jobs.push(id);
    } else {
      const audience = own[one.audience % own.length]!;
      const id = await driver.append(owner, audience, one.target);
      oracle.load(id, audience, owner, one.target);
      jobs.push(id);
    }
  }

  for (const { uploads, clears, jobs: wanted } of rounds) {
    for (const one of uploads) {
      await put(0, one);
      if (one.file.first % 3 > 0) await put(1, one);
    }
    for (const place of clears) {
      const audience = audiences[0][place % Math.max(1, audiences[0].length)];
      if (audience === undefined) continue;
      await driver.clear(partners[0], audience);
      oracle.clear(audience);
    }
    for (const one of wanted) await queue(one);
    if (jobs.length > 0) await driver.ended(jobs.at(-1)!, 60_000);
    await check({ oracle, jobs });
  }
  return { oracle, jobs };
}
