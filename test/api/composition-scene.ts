/** Audiences and attributes as the pipeline would have loaded them: device sets, and jobs that have ended in their order. */
import { groupBy } from '../../pipeline/runtime/group-by.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createAttributeStore } from '../../pipeline/stores/attributes.ts';
import {
  type AudienceDocument,
  collections,
  type FileDocument,
  type JobDocument,
  setNames,
} from '../../schemas/documents.ts';
import { fromHex, sortedHex } from '../sets/devices.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Api,
  AUDIENCE,
  type Call,
  fileDocument,
  IMPORT,
  type Reply,
  type TestPartner,
} from './support.ts';

const owner = async () => true;

export const compositionOf = (audience: number) => `${AUDIENCE}/${audience}/composition`;

/** The report, when it has been computed. */
export async function readReport(call: Call, audience: number, query = '', headers = {}): Promise<Reply> {
  const path = compositionOf(audience) + query;
  let reply: Reply | undefined;
  const isThere = async () => {
    reply = await call('GET', path, { headers });
    return reply.status !== 202;
  };
  await waitFor(isThere, { what: `the report of audience ${audience}`, deadlineMs: 30_000 });
  return reply!;
}

export interface Load {
  /** Rows by event; '' is none. */
  rows: Record<string, string[]>;
  path?: string;
}

export function createScene(api: Api) {
  const sets = createDeviceSets(api.db, {
    layout: { inlineDevices: 8, chunkDevices: 64, smallChunks: 3 },
  });
  const audiences = api.db.collection<AudienceDocument>(collections.audiences);

  /** Any slot will do, as long as a device is always in the same one. */
  async function add(set: string, devices: string[]): Promise<void> {
    const bySlot = groupBy(sortedHex(devices), (hex) => Number.parseInt(hex[0]!, 16));
    const additions = [...bySlot].map(([slot, hex]) => ({ set, slot, devices: fromHex(hex) }));
    await sets.add(additions, owner);
  }

  const phase = (job: number, name: JobDocument['phase']) =>
    api.jobs.updateOne({ _id: job }, { $set: { phase: name, status: name === 'ended' ? 2 : 1 } });

  async function queueImport(partner: TestPartner): Promise<number> {
    const reply = await partner.call('POST', IMPORT, { body: { file_path: 'a.csv', key_type: 0 } });
    return reply.json.import_log_id;
  }

  async function load(audience: number, job: number, { rows, path = `${job}.csv` }: Load): Promise<void> {
    const { generation } = (await audiences.findOne({ _id: audience }))!;
    const set = setNames.audience(audience, generation);
    await add(set, Object.values(rows).flat());
    for (const [event, devices] of Object.entries(rows))
      if (event !== '') await add(setNames.event(audience, generation, event), devices);
    const document = fileDocument((await api.jobs.findOne({ _id: job }))!, 0, {
      path,
      events: Object.entries(rows).map(([event, devices]) => ({ event, rows: devices.length })),
    });
    await api.db.collection<FileDocument>(collections.files).insertOne(document);
    const uniqueDevices = (
      await Promise.all(Array.from({ length: 16 }, (_, slot) => sets.read(set, slot)))
    ).reduce((sum, devices) => sum + devices.byteLength / 16, 0);
    await audiences.updateOne({ _id: audience }, { $set: { uniqueDevices, loadedBy: job } });
    await phase(job, 'ended');
  }

  return {
    audiences,
    phase,
    queueImport,
    add,

    async attribute(partner: TestPartner, devices: string[], name = 'attribute'): Promise<number> {
      const { _id } = await createAttributeStore(api.db).create({ partner: partner.id, name });
      const job = await queueImport(partner);
      await add(setNames.attribute(_id), devices);
      await phase(job, 'ended');
      return _id;
    },

    async import(partner: TestPartner, attribute: number, devices: string[]): Promise<void> {
      const job = await queueImport(partner);
      await add(setNames.attribute(attribute), devices);
      await phase(job, 'ended');
    },

    async delete(partner: TestPartner, attribute: number): Promise<void> {
      const body = { key_type: 0, keys: [String(attribute)] };
      const { import_log_id } = (await partner.call('DELETE', IMPORT, { body })).json;
      for (let slot = 0; slot < 16; slot++) await sets.drop([setNames.attribute(attribute)], slot, owner);
      await phase(import_log_id, 'ended');
    },

    async audience(partner: TestPartner, first: Load, { name = 'audience', headers = {} } = {}) {
      const body = { name, file_path: 'a/' };
      const id: number = (await partner.call('POST', AUDIENCE, { body, headers })).json.audience_id;
      await load(id, id, first);
      return id;
    },

    async append(partner: TestPartner, audience: number, next: Load): Promise<void> {
      const reply = await partner.call('PATCH', `${AUDIENCE}/${audience}`, { body: { file_path: 'a/' } });
      await load(audience, Number(reply.headers.get('location')!.split('/').at(-1)), next);
    },
  };
}
