/** The members of a replica set: which is primary, and how to make it step down. */
import { type Document, MongoClient } from 'mongodb';
import { waitFor } from '../../support/wait-for.ts';
import type { MemberName, OwnServers } from './servers.ts';

/** The replica set's URL, with its login, for a direct connection to one member. */
const urlOf = ({ addresses, hostOf }: OwnServers, name: MemberName) =>
  addresses.mongoUrl.replace(
    /(\/\/(?:[^@/]*@)?)[^/]*\/\?replicaSet=[^&]*/,
    `$1${hostOf(name)}/?directConnection=true`,
  );

async function direct<T>(
  servers: OwnServers,
  name: MemberName,
  work: (admin: (command: Document) => Promise<Document>) => Promise<T>,
): Promise<T> {
  const limits = { serverSelectionTimeoutMS: 20_000, connectTimeoutMS: 20_000, socketTimeoutMS: 30_000 };
  const client = new MongoClient(urlOf(servers, name), limits);
  try {
    await client.connect();
    return await work((command) => client.db('admin').command(command));
  } finally {
    await client.close();
  }
}

/** Throws every member's answer if none is primary. */
async function findPrimary(servers: OwnServers): Promise<MemberName> {
  const answers: string[] = [];
  for (const name of servers.members.filter(servers.runs)) {
    const hello = await direct(servers, name, (admin) => admin({ hello: 1 })).catch(String);
    if (typeof hello === 'object' && hello.isWritablePrimary) return name;
    answers.push(`${name}: ${typeof hello === 'string' ? hello : hello.secondary ? 'secondary' : 'neither'}`);
  }
  throw new Error(`no primary (${answers.join('; ')})`);
}

/** The current primary, or the next one after an election. */
export const primaryOf = (servers: OwnServers): Promise<MemberName> =>
  waitFor(() => findPrimary(servers), { what: 'a primary' });

/** Changes how long members wait for a silent primary before they elect another. */
export const electAfter = (servers: OwnServers, primary: MemberName, ms: number): Promise<Document> =>
  direct(servers, primary, async (admin) => {
    const { config } = await admin({ replSetGetConfig: 1 });
    const settings = { ...config.settings, electionTimeoutMillis: ms };
    return admin({ replSetReconfig: { ...config, version: config.version + 1, settings } });
  });

/** Resolves with the name of the new primary. */
export async function stepDown(servers: OwnServers): Promise<MemberName> {
  const old = await primaryOf(servers);
  const order = { replSetStepDown: 20, secondaryCatchUpPeriodSecs: 5, force: true };
  const another = async () => {
    const now = await findPrimary(servers);
    if (now !== old) return now;
    // The first time, or after the old primary was re-elected because the others were too slow to stand for election.
    await direct(servers, old, (admin) => admin(order)).catch(() => {});
    return undefined;
  };
  return waitFor(another, { what: 'another primary' });
}
