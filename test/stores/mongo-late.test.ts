/** A process that starts before MongoDB connects once MongoDB is up, however long that takes. */
import { connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { uniqueEnvironment } from '../support/stack.ts';
import { waitFor } from '../support/wait-for.ts';

it('calls fail while nobody listens, longer than the driver waits, and go through when somebody does', async () => {
  const env = uniqueEnvironment();
  const real = new URL(env.HEADRACE_MONGO_URL!);
  const late = new URL(real);
  late.port = String(await anyFreePort());
  const config = parseConfig({ ...env, HEADRACE_MONGO_URL: late.href });
  const mongo = await connectMongo({ ...config, limitBackendMs: 300 });
  onTestFinished(() => mongo.close());
  const ping = () => mongo.db.command({ ping: 1 });
  for (let i = 0; i < 3; i++) await expect(ping()).rejects.toThrow();

  const door = createServer((from) => {
    const to = connect(Number(real.port), '127.0.0.1');
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) socket.on('error', () => to.destroy() && from.destroy());
  });
  await new Promise<void>((resolve) => door.listen(Number(late.port), '127.0.0.1', resolve));
  onTestFinished(() => void door.close());
  expect(await waitFor(ping, { what: 'an answer' })).toMatchObject({ ok: 1 });
});
