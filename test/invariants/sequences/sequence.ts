/** Sequences of what partners do, and their run on the service and the oracle side by side. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { PartnerDocument } from '../../../schemas/documents.ts';
import type { Driver } from '../../support/driver.ts';
import { createOracle, type Oracle } from '../../support/oracle.ts';
import { type FileSpec, fileSpec, writeFile } from './file-spec.ts';

const paths = [
  'a/1.csv',
  'a/2.csv',
  'a/3.csv.gz',
  'a/b/4.csv.gz',
  'a/b/5.txt',
  'solo.csv',
  'solo.csv.gz',
  'day-1.tsv',
  'day-2.tsv',
];
const targets = [...paths, 'a/', 'a/b/', 'a/', 'day-', 'solo', 'missing.csv', 'nothing/'];
const foreignKeys = ['seg,ment', 'über|key', undefined, 'say "hi"', 'a;b', '__proto__', '007'];

export type Job =
  | { kind: 'import'; target: string; keyType: 0 | 1; compressed: boolean | null }
  | { kind: 'create'; target: string }
  | { kind: 'append'; audience: number; target: string }
  | { kind: 'delete'; attributes: number[] }
  | { kind: 'attribute' };

/** Uploads and clears while nothing runs, then jobs all at once: so it is plain what each of them must find. */
export interface Round {
  uploads: { path: string; file: FileSpec }[];
  clears: number[];
  jobs: (Job & { partner: 0 | 1 })[];
}

const target = fc.constantFrom(...targets);
const partner = fc.constantFrom(0 as const, 0 as const, 1 as const);
const job = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('import' as const),
      partner,
      target,
      keyType: fc.constantFrom(0 as const, 1 as const),
      compressed: fc.constantFrom(null, null, true, false),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), partner, target }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      partner,
      target,
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
const upload = fc.record({ path: fc.constantFrom(...paths), file: fileSpec });
const round: fc.Arbitrary<Round> = fc.record({
  uploads: fc.array(upload, { maxLength: 6 }),
  clears: fc.oneof(fc.constant([]), fc.array(fc.nat({ max: 3 }), { maxLength: 2 })),
  jobs: fc.array(job, { minLength: 1, maxLength: 6 }),
});
export const sequence = fc.array(round, { minLength: 1, maxLength: 4 });

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

  async function put(index: 0 | 1, { path, file }: Round['uploads'][number]): Promise<void> {
    const owner: PartnerDocument = partners[index];
    const unknownKey = owned[index === 0 ? 1 : 0][0]!;
    // A file names keys of one type, as partners do.
    const byId = file.picks[0]! % 2 === 0;
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
      if (one.file.first % 3 === 0) await put(1, one);
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
