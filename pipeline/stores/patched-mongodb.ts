/**
 * The MongoDB driver, patched: a command being written while its connection closes waits for the socket to drain, which never happens. No
 * timeout ends that wait, and all later commands of the connection hang, too.
 */
import type { EventEmitter } from 'node:events';
import { MongoNetworkError } from 'mongodb';
// @ts-expect-error: the package declares types for its entry point only.
import * as connection from 'mongodb/lib/cmap/connection.js';

interface Connection extends EventEmitter {
  closed: boolean;
  error: Error | null;
  writeCommand(command: unknown, options: unknown): Promise<unknown>;
}
const { Connection } = connection as { Connection: { prototype: Connection } };

const { writeCommand } = Connection.prototype;
Connection.prototype.writeCommand = async function (command, options) {
  const reason = () => this.error ?? new MongoNetworkError('the connection was closed');
  if (this.closed) throw reason();
  let onClose = () => {};
  const closed = new Promise<never>((_, reject) => {
    onClose = () => reject(reason());
    this.once('close', onClose);
  });
  try {
    return await Promise.race([writeCommand.call(this, command, options), closed]);
  } finally {
    this.off('close', onClose);
  }
};

export { MongoClient } from 'mongodb';
