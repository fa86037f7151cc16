/** An addition to the specification: the partner's attributes with their sizes. */
import { inGroupsAsync, within } from '../../pipeline/runtime/in-groups.ts';
import type { AttributeDocument } from '../../schemas/documents.ts';
import type { Dependencies, Handler } from '../context.ts';
import { send } from '../idempotent.ts';
import { createPublicAddress } from '../public-address.ts';
import { jsonArray, sendChunks } from '../stream-json.ts';
import { nextPage, pageQuery, readQuery } from './pages.ts';

const AT_ONCE = 1_000;

const toAttribute = ({ _id, name, foreignKey, createdAt }: AttributeDocument, devices: number) => ({
  attribute_id: _id,
  name,
  partner_foreign_key: foreignKey ?? null,
  devices,
  created_at: createdAt,
});

export function createMarketplaceAttributes({ attributes, attributeDevices, config }: Dependencies) {
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

  return { list };
}
