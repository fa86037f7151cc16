/**
 * The service's own servers are misconfigured from the start: the log names what the operator has to fix, and no job fails. The
 * service refuses to start with what can never work (a bucket that does not exist, a MongoDB that is not a replica set).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cached } from '../../deploy/local/cache.ts';
import { startDetached, stopProcess } from '../../deploy/local/child.ts';
import { mongodDownload } from '../../deploy/local/mongod.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import type { ProcessIdentity } from '../../deploy/local/process-identity.ts';
import { manage } from '../support/processes.ts';
import { bigFile } from '../support/rows.ts';
import { runHeadrace } from '../support/run-headrace.ts';
import { servers } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';
import { connectDriver } from './support/connect.ts';
import { newLogFolder } from './support/logs.ts';
import { faultSettings } from './support/service.ts';

it.each([['an unknown access key', { HEADRACE_S3_ACCESS_KEY_ID: 'nobody' }, 'HEADRACE_S3_ACCESS_KEY_ID']])(
  '%s of ours: not ready, the log names the setting, jobs wait and end well later',
  async (_, wrong, named) => {
    const settings = faultSettings(servers(), { HEADRACE_STORAGE_DEADLINE_MS: '1000' });
    const driver = await connectDriver(settings);
    const pipeline = await manage('pipeline', settings, { logs: newLogFolder() });
    try {
      const partner = await driver.partner();
      const attribute = await driver.attribute(partner);
      await driver.upload(partner, 'a.csv', bigFile(1_000, attribute));
      const job = await driver.import(partner, 'a.csv');
      pipeline.start(wrong);
      const health = async () => (await fetch(`${pipeline.url}/health/ready`)).json();
      const expected = { ready: false, checks: { kafka: true, mongodb: true, stages: true, storage: false } };
      await waitFor(async () => JSON.stringify(await health()) === JSON.stringify(expected), {
        what: 'everything but the storage',
      });
      const log = () => readFileSync(pipeline.log, 'utf8');
      const tries = () => log().split('the shared storage is down').length - 1;
      // Six tries include several pauses, the last of more than a second: well past the deadline.
      await waitFor(() => tries() >= 6, { what: 'six tries' });
      expect(log()).toMatch(new RegExp(`cannot be read, jobs wait: check .*${named}`));
      expect(await driver.jobs.findOne({ _id: job })).toMatchObject({ phase: 'accepted', errors: null });
      await pipeline.kill();
      pipeline.start({ HEADRACE_STORAGE_DEADLINE_MS: '300000' });
      expect(await driver.ended(job)).toMatchObject({ status: 2, rows: 1_000, errors: null });
      expect(await driver.sets.count(setNames.attribute(attribute))).toBe(1_000);
    } finally {
      await pipeline.kill();
      await driver.close();
    }
  },
);

describe('a start is refused, with exit code 1 and the name of the setting', () => {
  let directory: string;
  let mongod: ProcessIdentity;
  let port: number;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-standalone-'));
    const home = await cached(mongodDownload, () => {}, new AbortController().signal);
    port = await anyFreePort();
    const args = ['--bind_ip', '127.0.0.1', '--port', String(port), '--nounixsocket', '--dbpath', directory];
    mongod = startDetached(join(home, 'mongod'), args, { log: join(directory, 'log') });
  });
  afterAll(async () => {
    if (mongod) await stopProcess(mongod, 1_000);
    rmSync(directory, { recursive: true, force: true });
  });

  const run = async (part: 'api' | 'pipeline', wrong: Record<string, string>) => {
    const taken = await anyFreePort();
    const ports =
      part === 'api'
        ? { HEADRACE_API_PORT: String(taken), HEADRACE_API_METRICS_PORT: '0' }
        : { HEADRACE_PIPELINE_PORT: String(taken) };
    const { code, stdout, stderr } = await runHeadrace([part], {
      ...faultSettings(servers()),
      ...ports,
      ...wrong,
    });
    return { code, output: stdout + stderr };
  };

  it.each(['api', 'pipeline'] as const)('the %s, of a standalone MongoDB', async (part) => {
    const url = `mongodb://127.0.0.1:${port}/${part === 'api' ? '' : '?replicaSet=rs0'}`;
    const { code, output } = await run(part, { HEADRACE_MONGO_URL: url });
    expect(output).toContain('HEADRACE_MONGO_URL: this MongoDB is not a replica set');
    expect(code).toBe(1);
  });

  it('the pipeline, of a bucket that does not exist', async () => {
    const { code, output } = await run('pipeline', { HEADRACE_S3_BUCKET: 'no-such-bucket-anywhere' });
    expect(output).toContain('HEADRACE_S3_BUCKET: bucket no-such-bucket-anywhere does not exist');
    expect(code).toBe(1);
  });
});
