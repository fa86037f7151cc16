/** The members of a replica set: who is primary, and how it is made to step down. */
import { type Document, MongoClient } from 'mongodb';
import { waitFor } from '../../support/wait-for.ts';
import type { MemberName, OwnServers } from './servers.ts';

async function direct<T>(
  host: string,
  work: (admin: (command: Document) => Promise<Document>) => Promise<T>,
): Promise<T> {
  const url = `mongodb://${host}/?directConnection=true`;
  const limits = { serverSelectionTimeoutMS: 2_000, connectTimeoutMS: 2_000, socketTimeoutMS: 30_000 };
  const client = new MongoClient(url, limits);
  try {
    await client.connect();
    return await work((command) => client.db('admin').command(command));
  } finally {
    await client.close();
  }
}

async function findPrimary({ members, hostOf, runs }: OwnServers): Promise<MemberName | undefined> {
  for (const name of members.filter(runs)) {
    const hello = await direct(hostOf(name), (admin) => admin({ hello: 1 })).catch(() => null);
    if (hello?.isWritablePrimary) return name;
  }
  return undefined;
}

/** The one that there is, or the next one. */
export const primaryOf = (servers: OwnServers): Promise<MemberName> =>
  waitFor(() => findPrimary(servers), { what: 'a primary' });

/** Resolves when another member is primary; gives its name. */
export async function stepDown(servers: OwnServers): Promise<MemberName> {
  const old = await primaryOf(servers);
  const order = { replSetStepDown: 20, secondaryCatchUpPeriodSecs: 5, force: true };
  const another = async () => {
    const now = await findPrimary(servers);
    if (now !== old) return now;
    // Not asked yet; or elected again, because the others were too slow to stand while it might not.
    await direct(servers.hostOf(old), (admin) => admin(order)).catch(() => {});
    return undefined;
  };
  return waitFor(another, { what: 'another primary' });
}
