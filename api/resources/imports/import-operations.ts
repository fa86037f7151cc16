/** Marketplace imports: /v1/marketplace/import. The files, rejected rows and progress of an import are additions to the specification. */
import { z } from 'zod';
import type { ImportRequest } from '../../../pipeline/accept/new-job.ts';
import { sealCredentials } from '../../../pipeline/sources/credentials.ts';
import { createKeyHints } from '../../../pipeline/stores/key-hints.ts';
import { deletionBytes } from '../../../schemas/http.ts';
import { fileReport, importLog, importLogId, rejectedRow } from '../../../schemas/http-answers.ts';
import { dryRunId } from '../../../schemas/http-dry-runs.ts';
import { dryRunQuery, importQuery } from '../../../schemas/http-queries.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { answer, sendJson } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { cutPage, LISTED } from '../../http/pages.ts';
import { notFound, Problem } from '../../http/problem.ts';
import { example, json, link, location, rejectsLink, tagged } from '../../http/responses.ts';
import { createSharedReads } from '../../http/shared-reads.ts';
import { jsonArray, jsonLines, mapEach, sendChunks } from '../../http/stream-json.ts';
import { checkPrefixLeftOut, parseId } from '../../http/validate.ts';
import { filesOfJob, toFileReport } from '../../jobs/file-records.ts';
import { createReadProgress, describedProgress, toProgress } from '../../jobs/progress-records.ts';
import { linkRejects, rejectedRows } from '../../jobs/reject-records.ts';
import type { QueueDryRun } from '../dry-runs/dry-runs.ts';
import { type Dependencies, importPath, marketplace } from '../shared.ts';
import { deletionLog, doneLog, failedLog, findImportLog, shown, toImportLog } from './import-records.ts';
import { createListRenderer } from './render-records.ts';

const one = `${importPath}/:import_log_id`;

export function importOperations(deps: Dependencies, queueDryRun: QueueDryRun): Operation[] {
  const { attributes, jobs, config, bodies } = deps;
  const keyHints = createKeyHints(deps);
  const queued = ({ _id }: JobDocument) => answer(202, { import_log_id: _id }, `${importPath}/${_id}`);
  const jobOf = async (ctx: Context) => {
    const job = await findImportLog(deps, ctx.state.scope.partner, parseId(ctx.params.import_log_id));
    if (!job) throw notFound();
    return job;
  };

  const render = createListRenderer();
  const sharedList = createSharedReads(async (partner) =>
    render(partner, await jobs.listImportLogs(partner, LISTED, shown)),
  );
  const list = read({
    ...marketplace,
    path: importPath,
    operationId: 'listImportLogs',
    summary: 'List import logs',
    description:
      'Without parameters, the last 100 imports and deletions, newest first. With any of them, those that match all given filters, in pages of 100 unless `limit` is given.',
    query: importQuery,
    responses: tagged(
      json(z.array(importLog), 'Import logs', {
        headers: link,
        examples: {
          logs: example('A failed import, a deletion and an import', [failedLog, deletionLog, doneLog]),
        },
      }),
    ),
    async handle(ctx, given) {
      if (ctx.querystring === '') {
        const body = await sharedList(ctx.state.scope.partner);
        ctx.type = 'application/json';
        ctx.body = body;
        return;
      }
      const query = { limit: LISTED, ...given };
      const { limit, cursor: before, ...filters } = query;
      const found = await jobs.searchImportLogs(ctx.state.scope.partner, shown, {
        ...filters,
        before,
        limit: limit + 1,
        maxMs: config.limitBackendMs,
      });
      const page = cutPage(ctx, found, query, ({ _id }) => _id);
      sendJson(ctx, page.map(toImportLog));
    },
  });

  const queue = change({
    ...marketplace,
    method: 'post',
    path: importPath,
    scopes: ['import'],
    operationId: 'queueImport',
    summary: 'Queue an import',
    description:
      'Queues the import of a file, or of all files under a prefix, from the shared bucket or from your own. For many files, one call with a prefix is better than many calls.',
    query: dryRunQuery,
    body: {
      schema: bodies.importRequest,
      examples: {
        file: example('One file', { file_path: 'day=2026-06-01/devices.csv', key_type: 0 }),
        prefix: example('All files under a prefix', {
          file_path: 'day=2026-06-01/',
          key_type: 1,
          compressed: true,
        }),
        own: example('From your own bucket', {
          file_path: 's3://acme-exports/day=2026-06-01/devices.csv.gz',
          key_type: 0,
          path_type: 1,
          credentials: {
            accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
            secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
            region: 'eu-west-1',
          },
        }),
      },
    },
    responses: { 202: json(z.union([importLogId, dryRunId]), 'Queued', { headers: location }) },
    problems: ['too_many_pending', 'quota_exceeded'],
    prepare(ctx, body, { dry_run }) {
      const request: ImportRequest = {
        kind: 'import',
        partner: ctx.state.scope.partner,
        filePath: body.file_path,
        pathType: body.path_type,
        keyType: body.key_type,
        compressed: body.compressed ?? null,
      };
      if (request.pathType === 0) checkPrefixLeftOut(request.partner, request.filePath);
      if (body.credentials) {
        const { region, ...credentials } = body.credentials;
        const { partner } = request;
        request.credentials = (_id) => sealCredentials(config.secret, { _id, partner }, credentials);
        request.region = region;
      }
      if (dry_run) return queueDryRun(ctx, request, null);
      return { job: () => request, answer: queued };
    },
  });

  const remove = change({
    ...marketplace,
    method: 'delete',
    path: importPath,
    scopes: ['import'],
    operationId: 'deleteAttributeData',
    summary: 'Delete attribute data',
    description:
      'Permanent: it cannot be undone. The deletion is queued like an import and runs in the same order: it removes the data of imports accepted before it and none of those accepted after it.',
    body: {
      schema: bodies.deleteRequest,
      maxBytes: deletionBytes(config),
      examples: {
        attribute_ids: example('By attribute_id', { key_type: 0, keys: ['17', '18'] }),
        foreign_keys: example('By partner_foreign_key', { key_type: 1, keys: ['colour:red'] }),
      },
    },
    responses: { 202: json(importLogId, 'Queued', { headers: location }) },
    problems: ['too_many_pending', 'unknown_keys'],
    async prepare(ctx, { key_type: keyType, keys }) {
      const { partner } = ctx.state.scope;
      const { attributes: named, unknown } = await attributes.resolve(partner, keyType, keys);
      if (unknown.length > 0) {
        const names = unknown.map((index) => keys[index]!);
        const hint = await keyHints.ofKeys(partner, keyType, names);
        throw new Problem(
          'unknown_keys',
          `These keys do not belong to you: ${names.slice(0, 20).join(', ')}. Nothing was queued.${hint ? ` ${hint}` : ''}`,
          {
            errors: unknown.map((index) => ({
              path: `keys.${index}`,
              message: `${keys[index]} is not one of your keys`,
            })),
          },
        );
      }
      const request = { kind: 'delete', partner, keyType, keys, attributes: named } as const;
      return { job: () => request, answer: queued };
    },
  });

  const get = read({
    ...marketplace,
    path: one,
    operationId: 'getImportLog',
    summary: 'Get an import log',
    description: 'Poll until `status` is 2 or 3.',
    responses: tagged(
      json(importLog, 'The import log', {
        headers: rejectsLink,
        examples: {
          done: example('Done', doneLog),
          failed: example('Failed, with the reason', failedLog),
          deletion: example('A deletion', deletionLog),
        },
      }),
    ),
    async handle(ctx) {
      const job = await jobOf(ctx);
      linkRejects(ctx, job, `${importPath}/${job._id}/rejects`);
      sendJson(ctx, toImportLog(job));
    },
  });

  const files = read({
    ...marketplace,
    path: `${one}/files`,
    operationId: 'listImportFiles',
    summary: 'List the files of an import',
    description:
      'Each file with its row counts, and the reason if it failed. Empty until the job is running.',
    responses: tagged(json(z.array(fileReport), 'Files')),
    async handle(ctx) {
      const found = filesOfJob(deps, await jobOf(ctx));
      await sendChunks(ctx, 'application/json', jsonArray(mapEach(found, toFileReport)));
    },
  });

  const rejects = read({
    ...marketplace,
    path: `${one}/rejects`,
    operationId: 'listImportRejects',
    summary: 'List the rejected rows of an import',
    description: 'NDJSON: one JSON object per line, ordered by file and line.',
    responses: tagged(json(rejectedRow, 'Rejected rows', { type: 'application/x-ndjson' })),
    async handle(ctx) {
      const rows = rejectedRows(deps, await jobOf(ctx), config.rejectsPerFile);
      await sendChunks(ctx, 'application/x-ndjson', jsonLines(rows));
    },
  });

  const readProgress = createReadProgress({ jobs: deps.jobs, order: deps.config.order });
  const progress = read({
    ...marketplace,
    ...describedProgress,
    path: `${one}/progress`,
    operationId: 'getImportProgress',
    summary: 'Get the progress of an import',
    async handle(ctx) {
      const { partner } = ctx.state.scope;
      const { job, jobsAhead } = await readProgress(
        parseId(ctx.params.import_log_id),
        ({ partner: owner, kind }) => owner === partner && (kind === 'import' || kind === 'delete'),
      );
      sendJson(ctx, toProgress(job, { jobsAhead, isCancelled: false }));
    },
  });

  return [list, queue, remove, get, files, rejects, progress];
}
