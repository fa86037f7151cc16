/** mongod's own counters: bytes received from and sent to the service, and bytes written to disk. */
import type { Db } from 'mongodb';

export interface MongoUse {
  readonly received: number;
  readonly sent: number;
  /** Data files and journal. */
  readonly written: number;
}

async function read(db: Db): Promise<MongoUse> {
  const { network, wiredTiger } = await db.admin().command({ serverStatus: 1 });
  return {
    received: Number(network.bytesIn),
    sent: Number(network.bytesOut),
    written:
      Number(wiredTiger['block-manager']['bytes written']) + Number(wiredTiger.log['log bytes written']),
  };
}

/** Returns a function that gives the increase since. */
export async function watchMongo(db: Db): Promise<() => Promise<MongoUse>> {
  const before = await read(db);
  return async () => {
    const after = await read(db);
    return {
      received: after.received - before.received,
      sent: after.sent - before.sent,
      written: after.written - before.written,
    };
  };
}
