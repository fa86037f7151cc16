/** kill -9 at any moment: every id in a response is a job, and no number is missing. */
import { expect, it } from 'vitest';
import { IMPORT, startApiProcess } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi(() => startApiProcess({ HEADRACE_RATE_PER_SECOND: '100000' }));
const partner = usePartner(api);

it('answered ids are jobs, once each, after every one of several kills', async () => {
  const answered: number[] = [];
  for (let round = 0; round < 3; round++) {
    let stopped = false;
    const senders = Array.from({ length: 16 }, async (_, i) => {
      while (!stopped) {
        try {
          const body = { file_path: `r${round}/${i}`, key_type: 0 };
          const reply = await partner.call('POST', IMPORT, { body });
          if (reply.status === 202) answered.push(reply.json.import_log_id);
        } catch {
          return;
        }
      }
    });
    const enough = answered.length + 60 + round * 37;
    while (answered.length < enough) await new Promise((resolve) => setTimeout(resolve, 5));
    await api.service.kill('api');
    stopped = true;
    await Promise.all(senders);
    await api.service.restart('api');
  }
  const stored = await api.jobs.find().sort({ _id: 1 }).toArray();
  expect(new Set(answered).size).toBe(answered.length);
  expect(stored.map(({ _id }) => _id)).toEqual(Array.from({ length: stored.length }, (_, i) => i + 1));
  const live = new Set(stored.filter(({ phase }) => phase === 'accepted').map(({ _id }) => _id));
  expect(answered.filter((id) => !live.has(id))).toEqual([]);
});

it('SIGTERM: requests under way are answered, their jobs are there, and the process ends by itself', async () => {
  const answered: number[] = [];
  const odd: number[] = [];
  let stopped = false;
  const senders = Array.from({ length: 16 }, async () => {
    while (!stopped) {
      try {
        const reply = await partner.call('POST', IMPORT, { body: { file_path: 'a', key_type: 0 } });
        if (reply.status === 202) answered.push(reply.json.import_log_id);
        else odd.push(reply.status);
      } catch {
        return;
      }
    }
  });
  while (answered.length < 100) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await api.service.api.stop()).toBe(0);
  stopped = true;
  await Promise.all(senders);
  expect(odd).toEqual([]);
  const stored = new Set((await api.jobs.find().toArray()).map(({ _id }) => _id));
  expect(answered.filter((id) => !stored.has(id))).toEqual([]);
});
