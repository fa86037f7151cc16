/** Verdicts on jobs with very many files. Short verdicts are in the job and its markers; these only reference long ones. */
import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Binary, type Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { JobVerdict } from '../../schemas/job-documents.ts';
import type { VerdictDocument } from '../../schemas/stage-documents.ts';
import type { JobMarker } from '../../schemas/topics.ts';
import { createFileBits, createFileRanges, packFiles, packRanges } from '../formats/file-numbers.ts';
import { cached } from '../runtime/cached.ts';
import { removeInSteps, StaleRead } from './bulk.ts';

export type VerdictStore = ReturnType<typeof createVerdictStore>;
type FileTest = (file: number) => boolean;
type NamedFiles = Pick<JobMarker, 'passed' | 'collapsed' | 'verdict'>;

/** Maximum file numbers listed in a job and its markers. */
const MAX_LISTED = 1_000;
/** A sink needs few verdicts at a time, each for all slots of a partition. */
const KEPT = 4;

export function createVerdictStore(db: Db) {
  const verdicts = db.collection<VerdictDocument>(collections.verdicts);
  const kept = new LRUCache<string, Promise<{ isPassed: FileTest; isCollapsed: FileTest }>>({ max: KEPT });

  async function read(id: string) {
    const found = await verdicts.findOne({ _id: id });
    if (!found) throw new StaleRead(`verdict ${id} is not visible yet`);
    return {
      isPassed: createFileBits(found.passed.buffer),
      isCollapsed: createFileBits(found.collapsed.buffer),
    };
  }
  const stored = (id: string) => cached(kept, id, () => read(id));

  return {
    /** Stores the lists of a long verdict. Returns the verdict for the job and its markers. */
    async keep(job: number, verdict: JobVerdict): Promise<JobVerdict> {
      const { passed, collapsed } = verdict;
      if (passed.length + collapsed.length <= MAX_LISTED) return verdict;
      const _id = `${job}-${randomBytes(9).toString('base64url')}`;
      await verdicts.insertOne({
        _id,
        job,
        passed: new Binary(packRanges(passed)),
        collapsed: new Binary(packFiles(collapsed)),
      });
      return { ...verdict, passed: [passed[0]!, passed.at(-1)!], collapsed: [], stored: _id };
    },

    /** Whether a file passed and is merged. */
    passedOf: async ({ passed, verdict }: NamedFiles): Promise<FileTest> =>
      verdict === '' ? createFileRanges(passed) : (await stored(verdict)).isPassed,

    /** Whether all events of a file are collapsed into one. */
    async collapsedOf({ collapsed, verdict }: NamedFiles): Promise<FileTest> {
      if (verdict !== '') return (await stored(verdict)).isCollapsed;
      const files = new Set(collapsed);
      return (file) => files.has(file);
    },

    forget: (jobs: number[]) => removeInSteps(verdicts, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(verdicts, { job: { $lt: job } }),
  };
}
