/** An addition to the specification: the partner's attributes: list with sizes, rename, change visibility, delete. */
import { z } from 'zod';
import { deletionOf } from '../../../pipeline/accept/new-job.ts';
import { inGroupsAsync, within } from '../../../pipeline/runtime/in-groups.ts';
import type { AttributeDocument } from '../../../schemas/documents.ts';
import { changeAttribute } from '../../../schemas/http.ts';
import { attribute, importLogId } from '../../../schemas/http-answers.ts';
import { pageQuery } from '../../../schemas/http-queries.ts';
import { answer, direct, sendJson } from '../../http/change.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { cutPage } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { json, link, location, nothing, tagged } from '../../http/responses.ts';
import { jsonArray, sendChunks } from '../../http/stream-json.ts';
import { parseId } from '../../http/validate.ts';
import { type Dependencies, importPath, marketplace } from '../shared.ts';

const path = '/v1/marketplace/attribute';
const one = `${path}/:attribute_id`;
const AT_ONCE = 1_000;

const toAttribute = (
  { _id, name, foreignKey, isPrivate, createdAt }: AttributeDocument,
  devices: number,
) => ({
  attribute_id: _id,
  name,
  partner_foreign_key: foreignKey ?? null,
  visibility: isPrivate ? 'private' : 'public',
  devices,
  created_at: createdAt,
});

export function attributeOperations({
  attributes,
  attributeDevices,
  bodies,
  log,
}: Dependencies): Operation[] {
  async function toRecords(some: AttributeDocument[]) {
    const devices = await attributeDevices.of(some.map(({ _id }) => _id));
    return some.map((one) => toAttribute(one, devices.get(one._id) ?? 0));
  }

  async function* allOf(partner: string, before: number | undefined) {
    const found = attributes.page(partner, { before });
    for await (const some of inGroupsAsync(found, within({ count: AT_ONCE }))) yield* await toRecords(some);
  }

  const list = read({
    ...marketplace,
    path,
    operationId: 'listAttributes',
    summary: 'List attributes',
    description:
      'Your attributes with their sizes, newest first. All of them, or a page if `limit` is given.',
    query: pageQuery,
    responses: tagged(json(z.array(attribute), 'Attributes', { headers: link })),
    async handle(ctx, { limit, cursor: before }) {
      const { partner } = ctx.state.scope;
      if (limit === undefined) return sendChunks(ctx, 'application/json', jsonArray(allOf(partner, before)));
      const found = await attributes.page(partner, { before, limit: limit + 1 }).toArray();
      const page = cutPage(ctx, found, { limit }, ({ _id }) => _id);
      sendJson(ctx, await toRecords(page));
    },
  });

  const changeOne = change({
    ...marketplace,
    method: 'patch',
    path: one,
    scopes: ['import'],
    operationId: 'changeAttribute',
    summary: 'Rename an attribute, or change who sees it',
    description:
      'With `visibility`, makes one of your attributes public or private, effective immediately, existing reports included. With `name`, renames it; reports are then recomputed.',
    body: { schema: changeAttribute },
    responses: { 204: nothing('Changed') },
    prepare(ctx, { visibility, name }) {
      const which = { id: parseId(ctx.params.attribute_id), partner: ctx.state.scope.partner };
      return direct({
        intend: async () => null,
        async apply() {
          if (visibility && !(await attributes.setVisibility(which, visibility))) throw notFound();
          if (name && !(await attributes.rename(which, name))) throw notFound();
          return { status: 204 };
        },
      });
    },
  });

  const remove = change({
    ...marketplace,
    method: 'delete',
    path: one,
    scopes: ['import'],
    operationId: 'deleteAttribute',
    summary: 'Delete an attribute',
    description:
      'Permanent. The attribute disappears at once (404 from then on). Later imports reject its id and foreign key, which are never reused. A job deletes its data in the order of your jobs; jobs accepted before it end as usual.',
    body: { schema: bodies.nothing, optional: true },
    responses: {
      202: json(importLogId, 'Hidden; the deletion of its data is queued', { headers: location }),
    },
    problems: ['too_many_pending'],
    prepare(ctx) {
      const id = parseId(ctx.params.attribute_id);
      const { partner } = ctx.state.scope;
      return {
        async job() {
          // Also if an earlier request hid it and could not queue its deletion.
          if (!(await attributes.hide({ id, partner }))) throw notFound();
          return deletionOf(partner, id);
        },
        async answer(job) {
          await attributes
            .deletionQueued(id, job._id)
            .catch((error) =>
              log.warn({ err: error, job: job._id }, 'deleting the attribute again repeats its deletion'),
            );
          return answer(202, { import_log_id: job._id }, `${importPath}/${job._id}`);
        },
      };
    },
  });

  return [list, changeOne, remove];
}
