/** What Koa can do at most: a constant, nothing else. The measure for bench-api. */
import type { AddressInfo } from 'node:net';
import Koa from 'koa';

const koa = new Koa();
koa.use((ctx) => {
  ctx.body = { ok: true };
});
const server = koa.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
