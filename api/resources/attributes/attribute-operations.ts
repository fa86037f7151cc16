/** An addition to the specification: the partner's attributes with their sizes, and who sees them. */
import { z } from 'zod';
import { inGroupsAsync, within } from '../../../pipeline/runtime/in-groups.ts';
import type { AttributeDocument } from '../../../schemas/documents.ts';
import { changeAttribute } from '../../../schemas/http.ts';
import { attribute } from '../../../schemas/http-answers.ts';
import { pageQuery } from '../../../schemas/http-queries.ts';
import { direct, sendJson } from '../../http/change.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { createPublicAddress, cutPage } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { json, link, nothing, tagged } from '../../http/responses.ts';
import { jsonArray, sendChunks } from '../../http/stream-json.ts';
import { parseId } from '../../http/validate.ts';
import { type Dependencies, marketplace } from '../shared.ts';

const path = '/v1/marketplace/attribute';
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

export function attributeOperations({ attributes, attributeDevices, config }: Dependencies): Operation[] {
  const addressOf = createPublicAddress(config);

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
      const page = cutPage(ctx, addressOf(ctx.path), found, { limit }, ({ _id }) => _id);
      sendJson(ctx, await toRecords(page));
    },
  });

  const changeVisibility = change({
    ...marketplace,
    method: 'patch',
    path: `${path}/:attribute_id`,
    scopes: ['import'],
    operationId: 'changeAttribute',
    summary: 'Change who sees an attribute',
    description:
      'Makes one of your attributes public or private, effective immediately, existing reports included.',
    body: { schema: changeAttribute },
    responses: { 204: nothing('Changed') },
    prepare(ctx, { visibility }) {
      const id = parseId(ctx.params.attribute_id);
      const { partner } = ctx.state.scope;
      return direct({
        intend: async () => null,
        async apply() {
          if (!(await attributes.setVisibility({ id, partner }, visibility))) throw notFound();
          return { status: 204 };
        },
      });
    },
  });

  return [list, changeVisibility];
}
