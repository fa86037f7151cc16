/** An addition to the specification: the partner's attributes with their sizes, and who sees them. */
import { inGroupsAsync, within } from '../../../pipeline/runtime/in-groups.ts';
import type { AttributeDocument } from '../../../schemas/documents.ts';
import { changeAttribute } from '../../../schemas/http-attributes.ts';
import { pageQuery } from '../../../schemas/http-queries.ts';
import { direct, type Prepare, send } from '../../http/change.ts';
import type { Handler } from '../../http/context.ts';
import { createPublicAddress, nextPage, readQuery } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { jsonArray, sendChunks } from '../../http/stream-json.ts';
import { parseId, validate } from '../../http/validate.ts';
import type { Dependencies } from '../shared.ts';

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

export function createMarketplaceAttributes(deps: Dependencies) {
  const { attributes, attributeDevices, config } = deps;
  const addressOf = createPublicAddress(config);

  async function toRecords(some: AttributeDocument[]) {
    const devices = await attributeDevices.of(some.map(({ _id }) => _id));
    return some.map((attribute) => toAttribute(attribute, devices.get(attribute._id) ?? 0));
  }

  async function* allOf(partner: string, before: number | undefined) {
    const found = attributes.page(partner, { before });
    for await (const some of inGroupsAsync(found, within({ count: AT_ONCE }))) yield* await toRecords(some);
  }

  const list: Handler = async (ctx) => {
    const { limit, cursor: before } = readQuery(ctx, pageQuery);
    const { partner } = ctx.state.scope;
    if (limit === undefined) return sendChunks(ctx, 'application/json', jsonArray(allOf(partner, before)));
    const found = await attributes.page(partner, { before, limit: limit + 1 }).toArray();
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', nextPage(addressOf(ctx.path), { limit, cursor: page.at(-1)!._id }));
    send(ctx, { status: 200, body: JSON.stringify(await toRecords(page)) });
  };

  const change: Prepare = (ctx) => {
    const { visibility } = validate(changeAttribute, ctx.request.body);
    const id = parseId(ctx.params.attribute_id);
    const { partner } = ctx.state.scope;
    return direct({
      intend: async () => null,
      async apply() {
        if (!(await attributes.setVisibility({ id, partner }, visibility))) throw notFound();
        return { status: 204 };
      },
    });
  };

  return { list, change };
}
