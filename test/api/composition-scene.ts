/** Audiences and attributes as the pipeline leaves them: devices by space, and jobs that ended in order. */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { groupBy } from '../../pipeline/runtime/collections.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import type { Layout } from '../../pipeline/sets/regions.ts';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { createAttributeStore } from '../../pipeline/stores/attributes.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import type { CompositionDocument } from '../../schemas/composition-documents.ts';
import { collections, spaces } from '../../schemas/documents.ts';
import { composition } from '../../schemas/http-composition.ts';
import type { FileDocument } from '../../schemas/job-documents.ts';
import { DEFAULT_SLOTS } from '../../schemas/topics.ts';
import { slotOf } from '../formats/identifiers.ts';
import { manifestsOf, pagesOf } from '../sets/database.ts';
import { fromHex, keyedBy, numberedDevice, onePart } from '../sets/devices.ts';
import { endJobs } from '../support/end-jobs.ts';
import { slotTarget } from '../support/slot-target.ts';
import { startService, withoutPorts } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Api,
  AUDIENCE,
  type Call,
  createCaller,
  fileDocument,
  IMPORT,
  type Reply,
  startApiProcess,
  type TestPartner,
} from './support.ts';

export const devices = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => numberedDevice(from + i));

export const compositionOf = (audience: number) => `${AUDIENCE}/${audience}/composition`;

/** Waits until the report is computed. */
export async function readReport(call: Call, audience: number, query = '', headers = {}): Promise<Reply> {
  const path = compositionOf(audience) + query;
  let reply: Reply | undefined;
  const isThere = async () => {
    reply = await call('GET', path, { headers });
    return reply.status !== 202;
  };
  await waitFor(isThere, { what: `the report of audience ${audience}` });
  return reply!;
}

/** An API process, a partner and its reports. A starved process keeps its claims. */
export async function useComposition() {
  const api = await startApiProcess({ HEADRACE_TEST_COMPOSITION_DEAD_MS: '600000' });
  afterAll(() => api.stop());
  const partner = await api.partner();
  return {
    api,
    partner,
    scene: createScene(api),
    stored: () => api.db.collection<CompositionDocument>(collections.compositions),
    get: (audience: number, query = '') => partner.call('GET', compositionOf(audience) + query),
    report: async (audience: number) => composition.parse((await readReport(partner.call, audience)).json),
    computedBy: (log: string, audience: number) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes('composition computed') && line.includes(`"audience":${audience},`))
        .length,
  };
}

export interface Load {
  /** Rows by event; '' means none. */
  rows: Record<string, string[]>;
  path?: string;
}

/** Another API process on the same database. */
export async function secondApi(api: Api, key: string, env: Record<string, string> = {}) {
  const service = await startService({ parts: ['api'], env: { ...withoutPorts(api.service.env), ...env } });
  return { service, call: createCaller(service.apiUrl, key) };
}

/** Devices with one key; 0 means none. */
type Group = { key: number; devices: string[] };

type Job = { job: number; partner: string };

/** So small that a few devices fill several pages and regions. */
const tiny: Partial<Layout> = { pageBytes: 512, regionBytes: 4_096 };

export function createScene(api: Api, layout = tiny) {
  const sets = createDeviceSets(api.db, { layout });
  const eventValues = createEventValueStore(api.db);
  const attributeDevices = createAttributeDeviceStore(api.db);
  const audiences = api.audiences;

  /** Returns the new pairs by key. */
  async function add(space: string, job: Job, groups: Group[]): Promise<Map<number, number>> {
    const pairs = groups.flatMap(({ key, devices: some }) => some.map((device) => ({ key, device })));
    const added = new Map<number, number>();
    const placement = await sets.placement();
    const slotOfDevice = (device: string) => slotOf(fromHex([device]), 0, DEFAULT_SLOTS, placement);
    for (const [slot, held] of groupBy(pairs, ({ device }) => slotOfDevice(device))) {
      const byKey = groupBy(held, ({ key }) => key);
      const packed = [...byKey].map(([key, of]) => ({
        key,
        devices: fromHex(of.map(({ device }) => device)),
      }));
      const target = slotTarget({ space, slot, ...job });
      const { changes } = await sets.merge(target, onePart(keyedBy(placement, ...packed)));
      for (const [key, count] of changes.find((change) => change.job === job.job)?.pairs ?? [])
        added.set(key, (added.get(key) ?? 0) + count);
    }
    return added;
  }

  async function importInto(partner: TestPartner, groups: Group[]): Promise<void> {
    const job = await partner.queueImport();
    const ofPartner = { job, partner: partner.id };
    const added = await add(spaces.marketplace, ofPartner, groups);
    await attributeDevices.record([{ ...ofPartner, added }]);
    await end(job);
  }

  const end = (job: number) => endJobs(api.db, [job]);

  async function load(audience: number, job: number, { rows, path = `${job}.csv` }: Load): Promise<void> {
    const { generation } = (await audiences.findOne({ _id: audience }))!;
    const space = spaces.audience(audience, generation);
    await eventValues.assign(audience, generation, Object.keys(rows));
    const numbers = await eventValues.numbersOf(audience, generation, Object.keys(rows));
    const groups = Object.entries(rows).map(([event, some]) => ({
      key: numbers.get(event) ?? 0,
      devices: some,
    }));
    const stored = (await api.jobs.findOne({ _id: job }))!;
    await add(space, { job, partner: stored.partner }, groups);
    const document = fileDocument(stored, 0, {
      path,
      events: Object.entries(rows).map(([event, some]) => ({ event, rows: some.length })),
    });
    await api.db.collection<FileDocument>(collections.files).insertOne(document);
    const uniqueDevices = await sets.count(space);
    await audiences.updateOne({ _id: audience }, { $set: { uniqueDevices, loadedBy: job } });
    await end(job);
  }

  /** Hides the audience's devices: a computation retries until they are back. */
  async function withhold(audience: number): Promise<() => Promise<void>> {
    const { generation } = (await audiences.findOne({ _id: audience }))!;
    const space = spaces.audience(audience, generation);
    const manifests = await manifestsOf(api.db).find({ space }).toArray();
    const isOurs = { $or: manifests.map(({ _id }) => ({ _id: { $gte: `${_id}:`, $lt: `${_id};` } })) };
    const taken = await pagesOf(api.db).find(isOurs).toArray();
    await pagesOf(api.db).deleteMany(isOurs);
    return async () => void (await pagesOf(api.db).insertMany(taken));
  }

  return {
    audiences,
    eventValues,
    end,
    withhold,
    importInto,

    async attribute(partner: TestPartner, some: string[], name = 'attribute'): Promise<number> {
      const { _id } = await createAttributeStore(api.db).create({ partner: partner.id, name });
      await importInto(partner, [{ key: _id, devices: some }]);
      return _id;
    },

    async delete(partner: TestPartner, attribute: number): Promise<void> {
      const body = { key_type: 0, keys: [String(attribute)] };
      const job: number = (await partner.call('DELETE', IMPORT, { body })).json.import_log_id;
      let removed = 0;
      for (let slot = 0; slot < DEFAULT_SLOTS; slot++) {
        const target = slotTarget({ space: spaces.marketplace, slot, job, partner: partner.id });
        const { changes } = await sets.removeKeys(target, new Set([attribute]));
        removed += changes.find((change) => change.job === job)?.pairs.get(attribute) ?? 0;
      }
      await attributeDevices.record([{ job, partner: partner.id, added: new Map([[attribute, -removed]]) }]);
      await end(job);
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
