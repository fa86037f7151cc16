/** `headrace admin device show`: which attributes and audiences hold a device. */
import { type Command, InvalidArgumentError } from 'commander';
import type { ApiStores } from '../../../../api/stores/api-stores.ts';
import { Parsed, parseIdentifier, WORDS } from '../../../../pipeline/formats/identifier.ts';
import { spaces } from '../../../../schemas/documents.ts';
import type { Environments } from '../../commands.ts';
import type { Columns } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { list } from '../views.ts';

function identifier(text: string): Uint8Array {
  const device = new Uint32Array(WORDS);
  const bytes = Buffer.from(text);
  if (bytes.length !== 36 || parseIdentifier(bytes, 0, device) !== Parsed.ok)
    throw new InvalidArgumentError('expected an identifier such as 6d92078a-8246-4ba4-ae5b-76104861e7dc');
  return new Uint8Array(device.buffer);
}

interface Holder {
  kind: 'attribute' | 'audience';
  id: number;
  name: string;
  /** Audiences only: the device's events. */
  events?: string[];
}

async function findHolders(
  { sets, attributes, audiences, eventValues }: ApiStores,
  device: Uint8Array,
): Promise<Holder[]> {
  const holders: Holder[] = [];
  for await (const { space, keys } of sets.find(device)) {
    const held = spaces.parse(space);
    if (!held) {
      const described = await attributes.describe(keys);
      for (const id of keys) holders.push({ kind: 'attribute', id, name: described.get(id)?.name ?? '' });
      continue;
    }
    const [audience] = await audiences.findAll([held.audience]);
    // Of a cleared generation, not swept yet.
    if (audience?.generation !== held.generation) continue;
    const values = await eventValues.valuesOf(held.audience, held.generation);
    const events = keys.map((number) => values.get(number) ?? '');
    holders.push({ kind: 'audience', id: audience._id, name: audience.name, events });
  }
  return holders;
}

const columns: Columns<Holder> = {
  'HELD BY': ({ kind }) => kind,
  ID: ({ id }) => String(id),
  EVENTS: ({ events = [] }) => events.join(', '),
  NAME: ({ name }) => name,
};

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const device = admin.command('device').description('look up a device');
  add(device, 'show', 'show the attributes and audiences that hold a device')
    .argument('<identifier>', 'in 8-4-4-4-12 form', identifier)
    .discloses(async (stores, wanted: Uint8Array) => {
      const holders = await findHolders(stores, wanted);
      return { json: holders, text: list(holders, columns, 'not in any attribute or audience') };
    });
}
