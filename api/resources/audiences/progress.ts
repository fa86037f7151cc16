/** Additions to the specification: how far an import or a load has come, and when it may end. */

import { send } from '../../http/change.ts';
import type { Context, Handler } from '../../http/context.ts';
import { notFound } from '../../http/problem.ts';
import { createSharedReads } from '../../http/shared-reads.ts';
import { parseId } from '../../http/validate.ts';
import { type JobInProgress, shownInProgress, toProgress } from '../../jobs/progress-records.ts';
import type { Dependencies } from '../shared.ts';
import type { createFirstpartyAudience } from './audience-operations.ts';
import { isCancelledByClear } from './load-records.ts';

export function createProgress(
  { jobs }: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  /** Shared: a page that shows a job asks for it every second, and many may show the same one. */
  const readJob = createSharedReads(async (id) => {
    const job = await jobs.findShown(Number(id), shownInProgress);
    if (!job || job.phase === 'withdrawn') return null;
    return { job, jobsAhead: job.phase === 'ended' ? 0 : await jobs.countBefore(job._id) };
  });

  async function find(id: number, isTheirs: (job: JobInProgress) => boolean) {
    const found = await readJob(String(id));
    if (!found || !isTheirs(found.job)) throw notFound();
    return found;
  }

  const answer = (ctx: Context, progress: ReturnType<typeof toProgress>) =>
    send(ctx, { status: 200, body: JSON.stringify(progress) });

  const ofImport: Handler = async (ctx) => {
    const { partner } = ctx.state.scope;
    const { job, jobsAhead } = await find(
      parseId(ctx.params.import_log_id),
      (one) => one.partner === partner && one.kind !== 'audience',
    );
    answer(ctx, toProgress(job, { jobsAhead, isCancelled: false }));
  };

  const ofLoad: Handler = async (ctx) => {
    const id = parseId(ctx.params.load_id);
    const audience = await audienceOf(ctx);
    const { job, jobsAhead } = await find(id, (one) => one.audience === audience._id);
    answer(ctx, toProgress(job, { jobsAhead, isCancelled: isCancelledByClear(job, audience) }));
  };

  return { ofImport, ofLoad };
}
