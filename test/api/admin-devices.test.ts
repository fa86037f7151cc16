/** `headrace admin device show`: everything that contains a device, by name. */
import { expect, it } from 'vitest';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { spaces } from '../../schemas/documents.ts';
import { formatIdentifier, slotOf } from '../formats/identifiers.ts';
import { openDatabase } from '../sets/database.ts';
import { keyed, numberedDevices, onePart } from '../sets/devices.ts';
import { runAdmin } from '../support/run-admin.ts';
import { slotTarget } from '../support/slot-target.ts';

const AUDIENCE = 7;
const database = openDatabase();
const run = (...args: string[]) => runAdmin(['device', 'show', ...args], database.env);

it('shows attributes and audiences with events, and nothing of a cleared generation', async () => {
  const { sets, audiences, eventValues } = createApiStores(database.db);
  const load = { kind: 'audience', partner: 'p-1', customer: null, createdAt: new Date() } as const;
  await audiences.ensure({ ...load, _id: AUDIENCE, audience: AUDIENCE, audienceName: 'Winter' });
  await eventValues.assign(AUDIENCE, 1, ['visit']);
  const device = numberedDevices(0, 1);
  const slot = slotOf(device, 0);
  const hold = (space: string, key: number) =>
    sets.merge(slotTarget({ space, slot, job: AUDIENCE }), onePart(keyed({ devices: device, key })));
  await hold(spaces.marketplace, 3);
  await hold(spaces.audience(AUDIENCE, 1), 2);
  await hold(spaces.audience(AUDIENCE, 2), 2);

  const { code, stdout } = await run(formatIdentifier(device).toUpperCase(), '--json');
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    expect.arrayContaining([
      { kind: 'attribute', id: 3, name: '' },
      { kind: 'audience', id: AUDIENCE, name: 'Winter', events: ['visit'] },
    ]),
  ]);
  expect(JSON.parse(stdout)).toHaveLength(2);
  expect((await run(formatIdentifier(numberedDevices(1, 2)))).stdout).toBe(
    'not in any attribute or audience\n',
  );
});

it('refuses what is no identifier', async () => {
  const { code, stderr } = await run('6d92078a');
  expect([code, stderr]).toEqual([2, expect.stringContaining('expected an identifier')]);
});
