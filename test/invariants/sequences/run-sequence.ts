/** Runs a sequence on the service and on the oracle. */
import { randomBytes } from 'node:crypto';
import { EVERYONE } from '../../../schemas/job-documents.ts';
import type { PartnerDocument } from '../../../schemas/partner-documents.ts';
import type { Driver } from '../../support/driver.ts';
import { createOracle, type Oracle } from '../../support/oracle.ts';
import { DEVICES, device, writeFile } from './file-spec.ts';
import type { Round } from './sequence.ts';

const foreignKeys = ['seg,ment', 'über|key', undefined, 'say "hi"', 'a;b', '__proto__', '007'];

export interface Run {
  oracle: Oracle;
  jobs: number[];
}

/** Runs the sequence with its own partners and calls `check` after each round. */
export async function runSequence(
  driver: Driver,
  rounds: Round[],
  check: (run: Run) => Promise<void>,
): Promise<Run> {
  const oracle = createOracle();
  // Partners share devices only if all jobs have one order: otherwise a load's matches depend on when another import ends.
  const newTag = () => randomBytes(4).toString('hex');
  const [first, second] = [newTag(), newTag()];
  const tags = [first, driver.config.order === 'service' ? first : second] as const;
  const partners = [await driver.partner(), await driver.partner()] as const;
  const owned = [[], []] as [string[], string[]];
  const attributes = [[], []] as [number[], number[]];
  const audiences = [[], []] as [number[], number[]];
  const jobs: number[] = [];
  /** Loads of this round by audience. */
  let inFlight = new Map<number, number[]>();
  let requests: number[] = [];
  const load = (id: number, audience: number) => {
    inFlight.set(audience, [...(inFlight.get(audience) ?? []), id]);
    jobs.push(id);
  };

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
    const bytes = writeFile(file, { tag: tags[index], keys, unknownKey, path });
    await driver.upload(owner, path, bytes);
    oracle.upload(owner.prefix + path, bytes);
  }

  async function clear(index: 0 | 1, audience: number): Promise<void> {
    await driver.clear(partners[index], audience);
    // What a privacy request finds in an audience that is being cleared depends on timing, too.
    oracle.clear(audience, [...(inFlight.get(audience) ?? []), ...requests]);
  }

  async function queue(job: Round['jobs'][number]): Promise<void> {
    const owner = partners[job.partner];
    const own = audiences[job.partner];
    if (job.kind === 'attribute') return addAttribute(job.partner);
    if (job.kind === 'clear') {
      if (own.length > 0) await clear(job.partner, own[job.audience % own.length]!);
      return;
    }
    if (job.kind === 'privacy') {
      const count = Math.min(job.count, DEVICES);
      const wanted = Array.from({ length: count }, (_, n) => device(tags[job.partner], job.first + n));
      const id = await driver.privacy(job.type, job.forAll ? null : owner, wanted);
      oracle.privacy(id, job.type, job.forAll ? EVERYONE : owner._id, wanted);
      requests.push(id);
      jobs.push(id);
      return;
    }
    if (job.kind === 'delete') {
      const of = [
        ...new Set(job.attributes.map((n) => attributes[job.partner][n % attributes[job.partner].length]!)),
      ];
      const id = await driver.delete(owner, of);
      oracle.delete(id, of);
      jobs.push(id);
    } else if (job.kind === 'import') {
      const id = await driver.import(owner, job.target, { keyType: job.keyType, compressed: job.compressed });
      oracle.import(id, owner, job.target, job);
      jobs.push(id);
    } else if (job.kind === 'create' || own.length === 0) {
      const id = await driver.createAudience(owner, job.target);
      oracle.load(id, id, owner, job.target);
      own.push(id);
      load(id, id);
    } else {
      const audience = own[job.audience % own.length]!;
      const id = await driver.append(owner, audience, job.target);
      oracle.load(id, audience, owner, job.target);
      load(id, audience);
    }
  }

  for (const { uploads, clears, jobs: wanted } of rounds) {
    inFlight = new Map();
    requests = [];
    for (const upload of uploads) {
      await put(0, upload);
      if (upload.file.first % 3 > 0) await put(1, upload);
    }
    for (const place of clears) {
      const audience = audiences[0][place % Math.max(1, audiences[0].length)];
      if (audience === undefined) continue;
      await clear(0, audience);
    }
    for (const job of wanted) await queue(job);
    for (const job of jobs) await driver.ended(job);
    await check({ oracle, jobs });
  }
  return { oracle, jobs };
}
