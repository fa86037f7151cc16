/** Dry runs, an addition to the specification: read the files, change nothing, report what would be accepted. */
import { type JobRequest, numbered } from '../../../pipeline/accept/new-job.ts';
import { quotasOf } from '../../../pipeline/accept/quotas.ts';
import type { DryFile, DryRunDocument } from '../../../schemas/dry-run-documents.ts';
import { dryRun } from '../../../schemas/http-dry-runs.ts';
import { JobStatus } from '../../../schemas/job-documents.ts';
import { answer, type Change, direct, sendJson } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { read } from '../../http/operation.ts';
import { notFound, tooManyUnfinished } from '../../http/problem.ts';
import { json, tagged } from '../../http/responses.ts';
import { parseId } from '../../http/validate.ts';
import { audiencePath, type Dependencies, firstparty, importPath, marketplace } from '../shared.ts';

/** Waiting and running dry runs. */
const MAX_UNFINISHED = { perPartner: 10, perCustomer: 5 };

const toFile = ({ path, rows, accepted, rejected, failure, examples, isWhole }: DryFile) => ({
  s3_path: path,
  complete: isWhole,
  rows,
  rows_accepted: accepted,
  rows_rejected: rejected,
  failure,
  examples: examples.map(({ line, code, raw, isCut }) => ({
    line,
    code,
    raw,
    ...(isCut ? { truncated: true } : {}),
  })),
});

/** Sums only files that would be loaded. */
const sumOf = (files: DryFile[], count: 'rows' | 'accepted') =>
  files.reduce((sum, file) => sum + file[count], 0);

function toDryRun({ _id, job, status, files, fileCount, prefixMatches, ...rest }: DryRunDocument) {
  const hasEnded = status === JobStatus.done || status === JobStatus.error;
  const whole = files.length === fileCount && files.every(({ isWhole }) => isWhole);
  return {
    dry_run_id: _id,
    file_path: job.filePath,
    status,
    complete: hasEnded ? whole : null,
    files: fileCount,
    prefix_matches: prefixMatches,
    files_read: files.length,
    total_rows: sumOf(files, 'rows'),
    rows_accepted: sumOf(
      files.filter(({ failure }) => !failure),
      'accepted',
    ),
    errors: rest.errors,
    file: files.map(toFile),
    created_at: rest.createdAt,
    updated_at: rest.updatedAt,
  };
}

export function createDryRuns(deps: Dependencies) {
  const { dryRuns, counters, dailyQuota, knownPartners, config } = deps;

  /** Instead of the load. */
  function queue(ctx: Context, request: JobRequest, customer: string | null): Change {
    const { partner } = request;
    return direct({
      async intend() {
        const quotas = quotasOf(await knownPartners.lookUp(partner), config);
        // Counts bytes only: a dry run loads no rows.
        await dailyQuota.check(request, { ...quotas, rowsPerDay: 0 });
        return counters.take('dry runs');
      },
      async apply(id) {
        const attributesAsOf = await counters.attributeSequence();
        const now = new Date();
        const { requestToken: _, ...job } = numbered(request, -id, attributesAsOf, now);
        const document: DryRunDocument = {
          _id: id,
          partner,
          customer,
          job,
          status: JobStatus.pending,
          tries: 0,
          fileCount: 0,
          bytes: 0,
          prefixMatches: [],
          files: [],
          errors: null,
          createdAt: now,
          updatedAt: now,
        };
        // An earlier attempt may have taken the last free place.
        if (
          (await dryRuns.insert(document, MAX_UNFINISHED)) === 'full' &&
          !(await dryRuns.find(partner, customer, id))
        )
          throw tooManyUnfinished('dry runs', MAX_UNFINISHED, customer);
        return answer(202, { dry_run_id: id }, `${ctx.path.replace(/\/$/, '')}/dry-runs/${id}`);
      },
    });
  }

  const shared = (kind: 'import' | 'audience') => ({
    description: 'What would be loaded and rejected. Poll until `status` is 2 or 3. Kept for a day.',
    responses: tagged(json(dryRun, 'The dry run')),
    async handle(ctx: Context) {
      const { partner, customer } = ctx.state.scope;
      const found = await dryRuns.find(partner, customer, parseId(ctx.params.dry_run_id));
      if (found?.job.kind !== kind) throw notFound();
      sendJson(ctx, toDryRun(found));
    },
  });
  const ofImport = read({
    ...marketplace,
    ...shared('import'),
    path: `${importPath}/dry-runs/:dry_run_id`,
    operationId: 'getImportDryRun',
    summary: 'Get a dry run of an import',
  });
  const ofAudience = read({
    ...firstparty,
    ...shared('audience'),
    path: `${audiencePath}/dry-runs/:dry_run_id`,
    operationId: 'getAudienceDryRun',
    summary: 'Get a dry run of an audience',
  });

  return { queue, ofImport, ofAudience };
}
export type QueueDryRun = ReturnType<typeof createDryRuns>['queue'];
