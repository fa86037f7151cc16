/** The API process: its message when it cannot start, and that it waits for backends that are late. */
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { runHeadrace, startHeadrace } from '../support/run-headrace.ts';
import { impatient } from '../support/settings.ts';
import { uniqueEnvironment } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

it('a taken port: one line that names the setting, exit code 1', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as { port: number };
  try {
    const env = { ...uniqueEnvironment(), HEADRACE_API_PORT: String(port), HEADRACE_API_METRICS_PORT: '0' };
    const { code, stdout, stderr } = await runHeadrace(['api'], env);
    expect([code, stderr]).toEqual([1, '']);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'fatal',
      msg: expect.stringContaining('set HEADRACE_API_PORT to another port'),
    });
  } finally {
    holder.close();
  }
});

it('backends that are not there: live, not ready, 503; SIGTERM ends it', async () => {
  const port = await anyFreePort();
  const { child, outcome } = startHeadrace(['api'], {
    ...uniqueEnvironment(),
    ...impatient,
    HEADRACE_KAFKA_BROKERS: '127.0.0.1:1',
    HEADRACE_MONGO_URL: 'mongodb://127.0.0.1:1/?directConnection=true',
    HEADRACE_API_PORT: String(port),
    HEADRACE_API_METRICS_PORT: '0',
  });
  const get = (path: string, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers });
  await waitFor(async () => (await get('/health/live')).ok, { what: 'the API to be live' });
  expect((await get('/health/ready')).status).toBe(503);
  const headers = { authorization: `Bearer hr_abcdefgh_${'A'.repeat(43)}` };
  expect((await get('/v1/marketplace/import', headers)).status).toBe(503);
  child.kill('SIGTERM');
  expect((await outcome).code).toBe(0);
});
