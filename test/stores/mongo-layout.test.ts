import { expect, it } from 'vitest';
import { requireCurrentLayout } from '../../pipeline/stores/mongo.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const check = () => requireCurrentLayout({ db: database.db } as never);

it('device data of an earlier version is refused, and not overlooked', async () => {
  await check();
  await database.db.collection('chunks').insertOne({ devices: 1 });
  await expect(check()).rejects.toThrow('HEADRACE_MONGO_DATABASE');
});
