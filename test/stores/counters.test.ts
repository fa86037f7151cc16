import { expect, it } from 'vitest';
import { createCounterStore, PartitionCountChanged } from '../../pipeline/stores/counters.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();

it('another number of partitions than the data was written with is refused, and both are named', async () => {
  const counters = createCounterStore(database.db);
  const keep = (count: number) => counters.keepPartitionCount('ingest.devices', count);
  await keep(4);
  await keep(4);
  await expect(keep(6)).rejects.toThrow(PartitionCountChanged);
  await expect(keep(6)).rejects.toThrow(/ingest\.devices has 6 partitions.* with 4:.*HEADRACE_PARTITIONS=4/);
  await keep(4);
});
