/** What the receipt of a deletion claims: only what was done. */
import { decodeJwt } from 'jose';
import { beforeEach, expect, it } from 'vitest';
import { nothing } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import { createIssueReceipt } from '../../pipeline/stages/dispatch/commit/issue-receipt.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import type { JobDocument, JobError } from '../../schemas/job-documents.ts';
import { emptyDatabase, openDatabase } from '../sets/database.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
beforeEach(() => emptyDatabase(database.db));

const error = (code: JobError['code']): JobError[] => [{ code, message: '' }];

/** Of a deletion of a file's devices. */
async function claimsOf(fields: Partial<JobDocument>, passed: number[]) {
  const stores = createStores(database.db);
  const issue = createIssueReceipt({
    ...stores,
    ...{ secret: Buffer.alloc(32), secretOld: [], publicUrl: undefined },
    ...{ retentionHours: 72, retentionDaysEvidence: 1, retentionDaysBackups: undefined },
  });
  const { verdict } = nothing();
  const request = { kind: 'privacy', privacy: 'delete', audience: null, generation: null } as const;
  await issue(aJob({ ...request, ...fields, verdict: { ...verdict, passed } }), {
    found: 0,
    attributes: new Map(),
    audiences: [],
  });
  return decodeJwt((await stores.receipts.find(7))!.jws);
}

it('nothing, if the request was cancelled or its file failed', async () => {
  for (const code of ['cancelled', 'too_many_invalid'] as const) {
    await emptyDatabase(database.db);
    const claims = await claimsOf({ errors: error(code) }, []);
    expect(claims).toMatchObject({ request: { status: 'failed' } });
    expect(claims).toMatchObject({ removed: null, suppressed_since: null, remains: null });
  }
});

it('what was removed, and not that devices are kept out, if it was dropped halfway', async () => {
  const claims = await claimsOf({ errors: error('dropped'), dropRequested: true }, [0, 0]);
  expect(claims).toMatchObject({ removed: { rejected_rows: false }, suppressed_since: null });
});

it('all of it, if another file of the request failed', async () => {
  const claims = await claimsOf({ errors: error('too_many_invalid') }, [0, 0]);
  expect(claims).toMatchObject({ removed: { rejected_rows: true }, suppressed_since: expect.any(String) });
});
