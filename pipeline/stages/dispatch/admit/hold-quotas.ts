/**
 * Holds partners to what they may load on a day, when the files of a job are listed. Jobs that have ended are in the usage of the day;
 * those that are listed and have not ended are held here. The usage says up to which job it goes, so none is counted twice.
 *
 * Bytes count unpacked. As stored, they are known beforehand: a job that would exceed them is refused. What compressed files come to shows
 * while they are read: a job that exceeds them then is refused, too, and nothing of it is loaded. Rows are not known: jobs in flight when
 * they run out are loaded whole.
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
  /** Bytes, by partner and day, and number. */
  const held = new Map<string, Map<number, number>>();

  function heldOn(partner: string, day: string): Map<number, number> {
    const key = `${partner}/${day}`;
    const jobs = held.get(key) ?? new Map<number, number>();
    held.set(key, jobs);
    return jobs;
  }

  /** How the partner stands on the day of the job, with these bytes of it. Undefined: it has no quota. */
  async function standing(job: JobDocument, bytes: number) {
    const { _id, partner, createdAt } = job;
    if (job.kind === 'privacy') return undefined;
    const quotas = quotasOf(await lookUp(partner), deps);
    if (!hasDailyQuota(quotas)) return undefined;
    const day = dayOf(createdAt);
    const used = await usage.of(partner, day);
    const jobs = heldOn(partner, day);
    for (const id of jobs.keys()) if (id <= used.job || id === _id) jobs.delete(id);
    const all = [...jobs.values()].reduce((sum, one) => sum + one, used.bytes + bytes);
    return {
      quotas,
      used,
      isOverBytes: quotas.bytesPerDay > 0 && all > quotas.bytesPerDay,
      hold: () => jobs.set(_id, bytes),
      refuse: (what: string) =>
        problem('quota_exceeded', `Your quota for ${day} is ${what}; nothing was loaded.`),
    };
  }

  return {
    /** A predecessor has listed the job. */
    hold(job: JobDocument): void {
      heldOn(job.partner, dayOf(job.createdAt)).set(job._id, job.unpackedBytes ?? job.bytes ?? 0);
    },

    /** Holds the job with these bytes, or says why it cannot be loaded. */
    async admit(job: JobDocument, bytes: number): Promise<JobError | undefined> {
      const at = await standing(job, bytes);
      if (!at) return undefined;
      const { bytesPerDay, rowsPerDay } = at.quotas;
      if (at.isOverBytes) return at.refuse(`${bytesPerDay} bytes, and this job has ${bytes}`);
      if (rowsPerDay > 0 && at.used.rows >= rowsPerDay)
        return at.refuse(`${rowsPerDay} rows, which are loaded`);
      at.hold();
      return undefined;
    },

    /** The files of a job that is being loaded come to so many bytes by now. Says why it cannot be loaded any further. */
    async grow(job: JobDocument, bytes: number): Promise<JobError | undefined> {
      const at = await standing(job, bytes);
      if (at?.isOverBytes)
        return at.refuse(`${at.quotas.bytesPerDay} bytes, and this job has ${bytes} or more, unpacked`);
      at?.hold();
      return undefined;
    },
  };
}
