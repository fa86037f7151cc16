/** An addition to the specification: /v1/privacy/requests, for access and deletion requests under privacy law. */
import { z } from 'zod';
import type { PrivacyRequest } from '../../../pipeline/accept/new-job.ts';
import { secretsOf } from '../../../pipeline/runtime/seal.ts';
import {
  privacyRequest,
  privacyRequestDetails,
  publicKeys,
  requestId,
} from '../../../schemas/http-privacy.ts';
import { pageQuery } from '../../../schemas/http-queries.ts';
import { MAX_IDENTIFIERS } from '../../../schemas/identifier-text.ts';
import { answer, sendJson } from '../../http/change.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { cutPage, LISTED } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { example, json, link, location, tagged } from '../../http/responses.ts';
import { jsonArray, sendChunks } from '../../http/stream-json.ts';
import { checkPrefixLeftOut, parseId } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';
import { devicesOf, shownOfRequest, toRequest } from './privacy-records.ts';

const privacyPath = '/v1/privacy/requests';
const privacy = { tag: 'Privacy requests', access: 'partner', scopes: ['privacy'] } as const;
/** An identifier, quoted and separated. */
const IDENTIFIER_BYTES = 40;

export function privacyOperations(deps: Dependencies): Operation[] {
  const { bodies, config, identifierLists, jobs } = deps;

  const queue = change({
    ...privacy,
    method: 'post',
    path: privacyPath,
    operationId: 'requestPrivacy',
    summary: 'Delete or return what is stored about devices',
    description:
      'Covers your own attributes and audiences, and runs in the order of your jobs: a deletion includes the data of jobs accepted before it; later jobs leave the devices out and count them as suppressed. Send `identifiers`, or the `file_path` of a file with an identifier in the first column of each row.',
    body: {
      schema: bodies.privacyRequest,
      maxBytes: config.limitBodyBytes + MAX_IDENTIFIERS * IDENTIFIER_BYTES,
      examples: {
        identifiers: example('Some devices', {
          type: 'delete',
          identifiers: ['8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11'],
        }),
        file: example('A file', { type: 'delete', file_path: 'privacy/2026-06-01.csv' }),
      },
    },
    responses: { 202: json(requestId, 'Queued', { headers: location }) },
    problems: ['too_many_pending'],
    prepare(ctx, { type, identifiers, file_path: filePath = '' }) {
      const { partner } = ctx.state.scope;
      if (filePath !== '') checkPrefixLeftOut(partner, filePath);
      const request: PrivacyRequest = {
        ...{ kind: 'privacy', privacy: type, partner, filePath, compressed: 'auto' },
        source: 'api',
      };
      return {
        job: async () =>
          identifiers
            ? { ...request, identifiers: await identifierLists.store(identifiers, config.secret) }
            : request,
        answer: ({ _id }) => answer(202, { request_id: _id }, `${privacyPath}/${_id}`),
      };
    },
  });

  const list = read({
    ...privacy,
    path: privacyPath,
    operationId: 'listPrivacyRequests',
    summary: 'List privacy requests',
    description: 'Newest first, in pages of 100 unless `limit` is given.',
    query: pageQuery,
    responses: tagged(json(z.array(privacyRequest), 'Privacy requests', { headers: link })),
    async handle(ctx, given) {
      const query = { limit: LISTED, ...given };
      const { limit, cursor: before } = query;
      const { partner } = ctx.state.scope;
      const found = await jobs.listRequests(partner, shownOfRequest, { before, limit: limit + 1 });
      const page = cutPage(ctx, found, query, ({ _id }) => _id);
      sendJson(ctx, page.map(toRequest));
    },
  });

  const get = read({
    ...privacy,
    path: `${privacyPath}/:request_id`,
    operationId: 'getPrivacyRequest',
    summary: 'Get a privacy request',
    description: 'Poll until `status` is 2 or 3.',
    responses: tagged(json(privacyRequestDetails, 'The privacy request')),
    async handle(ctx) {
      const { partner } = ctx.state.scope;
      const job = await jobs.findRequest(partner, parseId(ctx.params.request_id), shownOfRequest);
      if (!job) throw notFound();
      const devices = await devicesOf(deps, job, secretsOf(config));
      const receipt = job.phase === 'ended' ? await deps.receipts.find(job._id) : null;
      const rest = { ...toRequest(job), receipt: receipt?.jws ?? null };
      if (!devices) return sendJson(ctx, { ...rest, devices });
      // As long as what is stored about its devices.
      const head = `${JSON.stringify(rest).slice(0, -1)},"devices":[`;
      await sendChunks(ctx, 'application/json', jsonArray(devices, head, ']}'));
    },
  });

  const keys = read({
    tag: 'Privacy requests',
    access: 'public',
    path: '/.well-known/jwks.json',
    operationId: 'getPublicKeys',
    summary: 'The public keys that verify receipts',
    responses: { 200: json(publicKeys, 'A JSON Web Key Set (RFC 7517)') },
    async handle(ctx) {
      ctx.set('Cache-Control', 'public, max-age=300');
      sendJson(ctx, { keys: await deps.signingKeys.publicKeys() });
    },
  });

  return [queue, list, get, keys];
}
