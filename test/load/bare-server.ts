/** The upper bound of Koa's throughput: a server that returns a constant. The reference for bench-api. */
import type { AddressInfo } from 'node:net';
import Koa from 'koa';

const koa = new Koa();
koa.use((ctx) => {
  ctx.body = { ok: true };
});
const server = koa.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
