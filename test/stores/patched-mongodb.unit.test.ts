import { createRequire } from 'node:module';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import '../../pipeline/stores/patched-mongodb.ts';

const require = createRequire(import.meta.url);
const { Connection } = require('mongodb/lib/cmap/connection.js');
const { ns } = require('mongodb/lib/utils.js');

/** A socket that accepts writes but never drains. */
const full = () =>
  Object.assign(new Duplex({ highWaterMark: 1, read() {}, write() {} }), { setTimeout() {} });
const connect = () =>
  new Connection(full(), { id: 1, generation: 0, hostAddress: 'nowhere:1', loadBalanced: false });

it('a command that is being written when its connection closes fails', async () => {
  const connection = connect();
  const command = connection.command(ns('admin.$cmd'), { ping: 1 }, {});
  await turn();
  await turn();
  connection.destroy();
  await expect(command).rejects.toMatchObject({ name: 'MongoNetworkError' });
});

it('a command whose connection closes before it is written fails', async () => {
  const connection = connect();
  const command = connection.command(ns('admin.$cmd'), { ping: 1 }, {});
  connection.destroy();
  await expect(command).rejects.toMatchObject({ name: 'MongoNetworkError' });
});
