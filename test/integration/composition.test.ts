/** Files in, reports out: whatever was loaded, appended, imported, deleted and cleared, reports match the oracle. */
import { expect } from 'vitest';
import { composition } from '../../schemas/http-composition.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { readReport } from '../api/composition-scene.ts';
import { createCaller } from '../api/support.ts';
import { createRandom } from '../faults/support/random.ts';
import { numberedDevice } from '../sets/devices.ts';
import type { Driver } from '../support/driver.ts';
import {
  expectedComposition,
  type ReportedAttribute,
  type ReportedAudience,
} from '../support/expected-composition.ts';
import { withService } from '../support/fixture.ts';
import { createOracle } from '../support/oracle.ts';

const test = withService();
const SEED = Number(process.env.HEADRACE_TEST_SEED ?? Math.floor(Math.random() * 1e9));
const DEVICES = 3_000;
const STEPS = 12;
const EVENTS = ['', 'seen', 'bought', '=cmd', 'a "quoted", one'];

const identifier = (number: number) =>
  numberedDevice(number).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

async function createWorld(driver: Driver, random: ReturnType<typeof createRandom>) {
  const oracle = createOracle();
  const described = new Map<number, ReportedAttribute>();
  const attributes = new Map<PartnerDocument, number[]>();
  const audiences: (ReportedAudience & { owner: PartnerDocument })[] = [];
  let files = 0;

  async function upload(partner: PartnerDocument, path: string, rows: string[]): Promise<void> {
    const body = Buffer.from(`${rows.join('\n')}\n`);
    oracle.upload(partner.prefix + path, body);
    await driver.upload(partner, path, body);
  }
  /** Rows with repeated devices, from a part of all devices. */
  function rowsOf(count: number, rest: () => string): string[] {
    const from = random.below(DEVICES);
    const width = 200 + random.below(DEVICES);
    return Array.from({ length: count }, () => {
      const device = identifier((from + random.below(width)) % DEVICES);
      return `${random.below(2) === 0 ? device : device.toUpperCase()},${rest()}`;
    });
  }
  const quoted = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  return {
    oracle,
    audiences,
    partners: () => [...attributes.keys()],
    expected: (audience: ReportedAudience) => expectedComposition(oracle, audiences, audience, described),

    async partner(attributeCount: number): Promise<PartnerDocument> {
      const partner = await driver.partner();
      const ids: number[] = [];
      for (let i = 0; i < attributeCount; i++) {
        const id = await driver.attribute(partner);
        oracle.attribute(id, partner);
        const visibility = i % 2 === 0 ? 'public' : 'private';
        await driver.stores.attributes.setVisibility({ id }, visibility);
        described.set(id, { name: 'attribute', partner, visibility });
        ids.push(id);
      }
      attributes.set(partner, ids);
      return partner;
    },
    async import(partner: PartnerDocument): Promise<void> {
      const path = `imports/${++files}.csv`;
      const own = attributes.get(partner)!;
      const keys = () => Array.from({ length: 1 + random.below(3) }, () => random.pick(own)).join(',');
      const width = 3;
      const rows = rowsOf(400 + random.below(800), () => {
        const given = keys();
        return given + ','.repeat(width - given.split(',').length);
      });
      await upload(partner, path, rows);
      const job = await driver.import(partner, path);
      oracle.import(job, partner, path, { keyType: 0, compressed: null });
      await driver.ended(job);
    },
    async delete(partner: PartnerDocument): Promise<void> {
      const gone = [random.pick(attributes.get(partner)!)];
      const job = await driver.delete(partner, gone);
      oracle.delete(job, gone);
      await driver.ended(job);
    },
    async create(owner: PartnerDocument): Promise<void> {
      const path = `audiences/${++files}.csv`;
      await upload(
        owner,
        path,
        rowsOf(300 + random.below(900), () => quoted(random.pick(EVENTS))),
      );
      const id = await driver.createAudience(owner, path);
      oracle.load(id, id, owner, path);
      audiences.push({ id, name: 'audience', partner: owner._id, loads: [id], owner });
      await driver.ended(id);
    },
    /** A new file, or an old path with new content. */
    async append(audience: (typeof audiences)[number]): Promise<void> {
      const path = `audiences/${random.below(3) === 0 ? audience.id : ++files}.csv`;
      await upload(
        audience.owner,
        path,
        rowsOf(100 + random.below(500), () => quoted(random.pick(EVENTS))),
      );
      const job = await driver.append(audience.owner, audience.id, path);
      oracle.load(job, audience.id, audience.owner, path);
      audience.loads.push(job);
      await driver.ended(job);
    },
    async clear(audience: (typeof audiences)[number]): Promise<void> {
      await driver.clear(audience.owner, audience.id);
      oracle.clear(audience.id);
      audience.loads = [];
    },
  };
}

test(`reports equal the oracle’s (HEADRACE_TEST_SEED=${SEED})`, async ({ service, driver }) => {
  const random = createRandom(SEED);
  const world = await createWorld(driver, random);
  const partners = [await world.partner(6), await world.partner(4)] as const;
  const calls = new Map<PartnerDocument, ReturnType<typeof createCaller>>();
  for (const partner of partners) {
    const { key } = await driver.stores.apiKeys.create(service.config.secret, partner._id);
    calls.set(partner, createCaller(service.apiUrl, key));
  }

  async function check(audience: (typeof world.audiences)[number], after: string): Promise<void> {
    const reply = await readReport(calls.get(audience.owner)!, audience.id);
    const { computed_at: _, ...report } = composition.parse(reply.json);
    const expected = world.expected(audience);
    if (expected.unique_devices === 0) {
      expect(report, after).toMatchObject({ unique_devices: 0, matched_devices: 0, attributes: [] });
      return;
    }
    const rounded = ({ attributes, ...rest }: typeof report) => ({
      ...rest,
      attributes: attributes.map((row) => ({ ...row, index: row.index.toFixed(6) })),
    });
    expect(rounded(report), after).toEqual(rounded(expected));
    const record = (await calls.get(audience.owner)!('GET', `/v2/firstparty/audience/${audience.id}`)).json;
    expect(record.matched_devices, after).toBe(expected.matched_devices);
  }

  for (const partner of partners) await world.import(partner);
  for (let i = 0; i < 3; i++) await world.create(partners[0]);
  await world.create(partners[1]);
  for (const audience of world.audiences) await check(audience, 'the first loads');

  const steps = {
    import: () => world.import(random.pick(partners)),
    delete: () => world.delete(random.pick(partners)),
    append: () => world.append(random.pick(world.audiences)),
    clear: () => world.clear(random.pick(world.audiences)),
    create: () => world.create(random.pick(partners)),
  };
  const order = [...(Object.keys(steps) as (keyof typeof steps)[])];
  while (order.length < STEPS) order.push(random.pick(['import', 'append', 'append', 'delete', 'clear']));
  for (const [number, step] of order.entries()) {
    await steps[step]();
    for (const audience of [world.audiences[0]!, random.pick(world.audiences)])
      await check(audience, `step ${number}: ${step}`);
  }
});
