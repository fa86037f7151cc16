import { MongoClient } from 'mongodb';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { keyed, onePart, randomDevices } from './devices.ts';

const client = new MongoClient(process.env.HEADRACE_MONGO_URL!, {
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db(`look-${process.pid}`);
await ensureIndexes(db);
const pageBytes = Number(process.argv[2] ?? 2048);
const sets = createDeviceSets(db, { layout: { pageBytes } });
let job = 0;
const add = async (space: string, n: number, seed: number, matchIn?: string) => {
  job++;
  const ds = Array.from({ length: 16 }, (_, slot) =>
    keyed({ devices: randomDevices(Math.round(n / 16), seed * 16 + slot), key: 5 }),
  );
  const t = performance.now();
  const c = process.cpuUsage();
  const r = await Promise.all(
    ds.map((d, slot) => sets.merge({ space, slot, job, since: job - 1, matchIn }, onePart(d))),
  );
  const u = process.cpuUsage(c);
  return [Math.round(performance.now() - t), Math.round((u.user + u.system) / 1000)].join('/');
};
for (let i = 0; i < 2; i++) console.log('bulk 2M', await add('m', 2_000_000, i + 1));
const out: string[] = [];
for (let i = 0; i < 12; i++) out.push(await add(`a${i}.1`, 10_000, 60 + i, 'm'));
console.log('match 10k (wall/cpu)', out.join(' '));
const out2: string[] = [];
for (let i = 0; i < 6; i++) out2.push(await add(`c${i}.1`, 10_000, 60 + i));
console.log('no match 10k', out2.join(' '));
await db.dropDatabase();
await client.close();
