/**
 * A decided job whose merge fails repeatedly is stopped, and so are its partner's later jobs. Other partners' jobs go on, also
 * after restarts. Once dropped, the job says exactly what is stored of it; once retried successfully, all of it is stored.
 */
import { expect, it } from 'vitest';
import { createJobInspection } from '../../../deploy/cli/admin/inspect-jobs.ts';
import { spaces } from '../../../schemas/documents.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import { toPlain } from '../../sets/devices.ts';
import { asMembers, file, ids } from '../../support/rows.ts';
import { setNames } from '../../support/stored-sets.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { FaultFixture } from '../support/fixture.ts';

const ROWS = 800;
const done = { status: 2, errors: null, uniqueDevices: ROWS };

export function stoppedJob(faults: FaultFixture): void {
  const driver = () => faults.service.driver;
  const inspection = () => createJobInspection(driver().stores, driver().config);

  async function newPartner() {
    const partner = await driver().partner();
    const attribute = await driver().attribute(partner);
    let files = 0;
    const upload = async (key: number | string) => {
      const devices = ids(ROWS);
      const path = `${++files}.csv`;
      await driver().upload(partner, path, file(devices, key));
      return { devices, path };
    };
    return {
      partner,
      attribute,
      async import() {
        const { devices, path } = await upload(attribute);
        return { id: await driver().import(partner, path), path, devices };
      },
      async load(audience?: number) {
        const { devices, path } = await upload('seen');
        const id = await (audience
          ? driver().append(partner, audience, path)
          : driver().createAudience(partner, path));
        return { id, path, devices };
      },
    };
  }

  const find = (job: number) => driver().jobs.findOne({ _id: job }) as Promise<JobDocument>;
  const untilStopped = (job: number) =>
    waitFor(async () => (await find(job)).stoppedAt !== undefined, {
      what: `job ${job} to be stopped`,
      progress: driver().openJobs,
    });

  async function restart(env: Record<string, string> = {}): Promise<void> {
    await faults.killPipeline();
    faults.pipeline.start(env);
  }

  /** Restarts the pipeline after each crash, like a supervisor, until the job is stopped. */
  async function restartUntilStopped(job: number, env: Record<string, string>): Promise<number> {
    const stopped = untilStopped(job).then(() => true);
    for (let deaths = 0; ; deaths++) {
      faults.pipeline.start(env);
      if (await Promise.race([stopped, faults.pipeline.gone().then(() => false)])) return deaths;
      await faults.killPipeline();
    }
  }

  /** Expects the record to match what is stored, by slot and in numbers. Returns the number of stored devices. */
  async function expectRecord(job: JobDocument, space: string, key?: number): Promise<number> {
    const { merged, notMerged } = job.dropped!;
    expect([...merged, ...notMerged].sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, i) => i));
    expect(Math.min(merged.length, notMerged.length)).toBeGreaterThan(0);
    const stored = new Map<number, number>();
    for (const slot of [...merged, ...notMerged])
      for await (const devices of driver().stores.sets.read(space, slot))
        for (const keys of toPlain(devices).values())
          if (key === undefined || keys.includes(key)) stored.set(slot, (stored.get(slot) ?? 0) + 1);
    expect([...stored.keys()].filter((slot) => notMerged.includes(slot))).toEqual([]);
    const total = [...stored.values()].reduce((sum, count) => sum + count, 0);
    expect(job).toMatchObject({
      status: 3,
      uniqueDevices: total,
      errors: [
        {
          code: 'dropped',
          message: expect.stringContaining(
            `Stored: ${total} devices, those of slots ${merged.join(', ')}. Not stored: ${ROWS - total} pairs`,
          ),
        },
      ],
    });
    return total;
  }

  it('an import: its partner waits, others go on, and a restart changes nothing; dropped, it is stored in part', async () => {
    await faults.killPipeline();
    const [one, two] = [await newPartner(), await newPartner()];
    const bad = await one.import();
    const behind = await one.load();
    const others = [await two.import(), await two.load()];
    const fault = { FAULT_POINT: `sink:before-gather@${bad.id}:4+:fail` };
    await restart(fault);
    for (const { id } of others) expect(await driver().ended(id)).toMatchObject(done);
    await untilStopped(bad.id);

    await restart(fault);
    const later = await one.load();
    const another = await two.import();
    expect(await driver().ended(another.id)).toMatchObject(done);
    for (const { id } of [bad, behind, later]) expect((await find(id)).phase).not.toBe('ended');
    expect((await inspection().show(bad.id)).waitsFor).toContain('an operator');
    expect((await inspection().show(later.id)).waitsFor).toBe(`job ${bad.id}, which is stopped`);
    await expect(inspection().cancel(bad.id)).rejects.toThrow(`headrace admin job drop ${bad.id}`);
    await expect(inspection().resume(behind.id, 'drop')).rejects.toThrow('is not stopped');

    await inspection().resume(bad.id, 'drop');
    const stored = await expectRecord(await driver().ended(bad.id), spaces.marketplace, one.attribute);
    const attributeDevices = () => driver().stores.attributeDevices.of([one.attribute]);
    expect((await attributeDevices()).get(one.attribute)).toBe(stored);
    for (const { id } of [behind, later]) expect(await driver().ended(id)).toMatchObject(done);

    const again = await driver().import(one.partner, bad.path);
    expect(await driver().ended(again)).toMatchObject(done);
    expect(await driver().members(setNames.attribute(one.attribute))).toEqual(asMembers(bad.devices));
    expect((await attributeDevices()).get(one.attribute)).toBe(ROWS);
  });

  it('a load and a deletion: killed during the drop, what is stored is what it says; retried, the deletion is done', async () => {
    const [one, two, three] = [await newPartner(), await newPartner(), await newPartner()];
    const kept = await one.import();
    expect(await driver().ended(kept.id)).toMatchObject(done);
    await faults.killPipeline();
    const deletion = await driver().delete(one.partner, [one.attribute]);
    const bad = await two.load();
    const [other, behind, later] = [await three.load(), await two.load(bad.id), await one.import()];
    await restart({ FAULT_POINT: `sink:before-remove-keys:2+:fail,sink:before-gather@${bad.id}:4+:fail` });
    expect(await driver().ended(other.id)).toMatchObject(done);
    await untilStopped(deletion);
    await untilStopped(bad.id);
    expect(await driver().stores.jobs.countStopped(60_000)).toBe(2);

    await faults.killPipeline();
    await inspection().resume(bad.id, 'drop');
    faults.pipeline.start({ FAULT_POINT: 'sink:after-drop:2:kill' });
    await faults.pipeline.gone();
    await restart();
    const ended = await driver().ended(bad.id);
    const stored = await expectRecord(ended, spaces.audience(bad.id, 1));
    expect(ended).toMatchObject({ audienceDevices: stored, newDevices: stored });
    expect(await driver().filesOf(bad.id)).toMatchObject([{ status: 3, failure: { code: 'dropped' } }]);
    expect(await driver().ended(behind.id)).toMatchObject({ ...done, audienceDevices: stored + ROWS });
    // The dropped file counts as not loaded, so appending it again loads it.
    const again = await driver().append(two.partner, bad.id, bad.path);
    expect(await driver().ended(again)).toMatchObject({ ...done, newDevices: ROWS - stored });
    const everything = asMembers([...bad.devices, ...behind.devices]);
    expect(await driver().members(setNames.audience(bad.id, 1))).toEqual(everything);
    const audience = await driver().audiences.findOne({ _id: bad.id });
    expect(audience).toMatchObject({ uniqueDevices: 2 * ROWS, uploadedDevices: 2 * ROWS, outcome: 2 });

    expect((await find(deletion)).stoppedAt).toBeDefined();
    expect((await find(later.id)).phase).not.toBe('ended');
    await inspection().resume(deletion, 'retry');
    expect(await driver().ended(deletion)).toMatchObject({ status: 2, uniqueDevices: ROWS, rows: ROWS });
    expect(await driver().ended(later.id)).toMatchObject(done);
    expect(await driver().members(setNames.attribute(one.attribute))).toEqual(asMembers(later.devices));
  });

  // Five starts, so it is not in short rounds; test/stages/sink-failures covers the case there.
  it.runIf(process.env.FAULT_POINTS === 'all')(
    'a load that its process dies of, again and again: stopped, too, and retried it is loaded',
    async () => {
      await faults.killPipeline();
      const [one, two] = [await newPartner(), await newPartner()];
      const bad = await one.load();
      const [behind, other] = [await one.load(bad.id), await two.import()];
      const fault = { FAULT_POINT: `sink:before-gather@${bad.id}:1+:kill` };
      // One crash that several jobs could have caused, and three with this job alone.
      expect(await restartUntilStopped(bad.id, fault)).toBeGreaterThanOrEqual(4);
      expect(await driver().ended(other.id)).toMatchObject(done);
      expect((await find(bad.id)).internalReason).toMatch(/processes died while merging it/);
      expect((await find(behind.id)).phase).not.toBe('ended');

      await restart();
      await inspection().resume(bad.id, 'retry');
      for (const { id } of [bad, behind]) expect(await driver().ended(id)).toMatchObject(done);
      const everything = asMembers([...bad.devices, ...behind.devices]);
      expect(await driver().members(setNames.audience(bad.id, 1))).toEqual(everything);
    },
  );
}
