/**
 * Enforces daily quotas when the files of a job are listed. Ended jobs are in the stored usage of the day; listed jobs that have not ended
 * are held here. The usage records the last job it includes, so no job is counted twice.
 *
 * Bytes count uncompressed. A job whose stored bytes exceed the quota is refused at once. Compressed files grow while they are read: a job
 * that exceeds the quota then is refused, too, and nothing of it is loaded. Rows are not known in advance: jobs in flight when the row
 * quota is used up are loaded completely.
 */
import type { JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import { type DefaultQuotas, hasDailyQuota, quotasOf } from '../../../accept/quotas.ts';
import { keepPartners } from '../../../stores/partners.ts';
import type { Stores } from '../../../stores/stores.ts';
import { dayOf } from '../../../stores/usage.ts';
import { problem } from '../list/find-objects.ts';

export type QuotaHold = ReturnType<typeof createQuotaHold>;

export function createQuotaHold(deps: Pick<Stores, 'partners' | 'usage'> & DefaultQuotas) {
  const { partners, usage } = deps;
  const lookUp = keepPartners(partners);
  /** Bytes by partner and day, then by job. */
  const held = new Map<string, Map<number, number>>();

  function heldOn(partner: string, day: string): Map<number, number> {
    const key = `${partner}/${day}`;
    const jobs = held.get(key) ?? new Map<number, number>();
    held.set(key, jobs);
    return jobs;
  }

  /** The partner's usage on the job's day, including these bytes. Undefined: no daily quota. */
  async function standing(job: JobDocument, bytes: number) {
    const { _id, partner, createdAt } = job;
    if (job.kind === 'privacy') return undefined;
    const quotas = quotasOf(await lookUp(partner), deps);
    if (!hasDailyQuota(quotas)) return undefined;
    const day = dayOf(createdAt);
    const used = await usage.of(partner, day);
    const jobs = heldOn(partner, day);
    for (const id of jobs.keys()) if (id <= used.job || id === _id) jobs.delete(id);
    const total = [...jobs.values()].reduce((sum, held) => sum + held, used.bytes + bytes);
    return {
      quotas,
      used,
      isOverBytes: quotas.bytesPerDay > 0 && total > quotas.bytesPerDay,
      hold: () => jobs.set(_id, bytes),
      refuse: (what: string) =>
        problem('quota_exceeded', `Your quota for ${day} is ${what}; nothing was loaded.`),
    };
  }

  return {
    /** For a job that a previous dispatcher listed. */
    hold(job: JobDocument): void {
      heldOn(job.partner, dayOf(job.createdAt)).set(job._id, job.unpackedBytes ?? job.bytes ?? 0);
    },

    /** Reserves these bytes for the job, or returns why it cannot be loaded. */
    async admit(job: JobDocument, bytes: number): Promise<JobError | undefined> {
      const at = await standing(job, bytes);
      if (!at) return undefined;
      const { bytesPerDay, rowsPerDay } = at.quotas;
      if (at.isOverBytes) return at.refuse(`${bytesPerDay} bytes, and this job has ${bytes}`);
      if (rowsPerDay > 0 && at.used.rows >= rowsPerDay)
        return at.refuse(`${rowsPerDay} rows, and it is used up`);
      at.hold();
      return undefined;
    },

    /** Updates the bytes of a loading job. Returns an error if it now exceeds the quota. */
    async grow(job: JobDocument, bytes: number): Promise<JobError | undefined> {
      const at = await standing(job, bytes);
      if (at?.isOverBytes)
        return at.refuse(`${at.quotas.bytesPerDay} bytes, and this job has ${bytes} or more, unpacked`);
      at?.hold();
      return undefined;
    },
  };
}
