/** Concurrent requests with one Idempotency-Key: whichever queues the job, all get its response. */
import { expect, it } from 'vitest';
import type { Context } from '../../api/http/context.ts';
import { notFound } from '../../api/http/problem.ts';
import { createCarryOut } from '../../api/jobs/idempotent.ts';
import { parseConfig } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { readConfigFile } from '../support/env-file.ts';

const job = { _id: 7, phase: 'accepted' } as JobDocument;

/** `isQueued`: whether another try has queued the job by the time this one fails. */
function carryOut(isQueued: boolean) {
  const mark = { _id: 'partner/key' };
  const deps = {
    config: parseConfig(readConfigFile('minimal.env'), 'api'),
    log: { debug() {} },
    idempotency: {
      claim: async (_: unknown, __: string, own: object) => ({ ...mark, ...own }),
      storeAnswer: async () => null,
    },
    jobs: { findByToken: async () => (isQueued ? job : undefined), promise: async () => job },
  } as unknown as Parameters<typeof createCarryOut>[0];
  const ctx = {
    ...{ method: 'DELETE', path: '/', search: '', get: () => 'key', request: {} },
    req: { headers: { 'idempotency-key': 'key' } },
    state: { scope: { partner: 'partner' } },
  } as unknown as Context;
  return createCarryOut(deps)(ctx, {
    async job() {
      throw notFound();
    },
    answer: ({ _id }) => ({ status: 202, body: String(_id) }),
  });
}

it('a request whose job another try has queued meanwhile gets the response of that job', async () => {
  expect(await carryOut(true)).toEqual({ status: 202, body: '7' });
});

it('without another try, it gets its error', async () => {
  await expect(carryOut(false)).rejects.toMatchObject({ code: 'not_found' });
});
