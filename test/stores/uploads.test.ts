/** An audience's file totals are added up load by load and equal the sums over its files. */
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { createAudienceStore } from '../../pipeline/stores/audiences.ts';
import { createFileStore, fileId } from '../../pipeline/stores/files.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import { type FileDocument, type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';

const database = openDatabase();
const scope = { partner: 'p', customer: null };
beforeAll(() => ensureIndexes(database.db));

interface LoadedFile {
  path: string;
  accepted: number;
  invalid: number;
  failed: boolean;
}
/** A load of some files, or a clear. */
const loads = fc.array(
  fc.option(
    fc.uniqueArray(
      fc.record({
        path: fc.constantFrom('a', 'b', 'c', '$d'),
        accepted: fc.nat(100),
        invalid: fc.nat(5),
        failed: fc.boolean(),
      }),
      { selector: ({ path }) => path },
    ),
    { freq: 8, nil: null },
  ),
  { maxLength: 12 },
);
let audience = 0;

it('over the newest entry of each path, in any order of loads and clears, each counted once', async () => {
  const { db } = database;
  const audiences = createAudienceStore(db);
  const files = createFileStore(db);
  await fc.assert(
    fc.asyncProperty(loads, async (sequence) => {
      audience += 1_000;
      const base = { kind: 'audience', partner: 'p', customer: null, audience } as const;
      await audiences.ensure({ ...base, _id: audience, audienceName: 'a', createdAt: new Date() });
      let generation = 1;
      let newest = new Map<string, LoadedFile>();
      for (const [i, loaded] of sequence.entries()) {
        if (loaded === null) {
          await audiences.clear(scope, audience, generation++);
          newest = new Map();
          continue;
        }
        const _id = audience + i;
        const listing = `${_id}-l`;
        const job = { ...base, _id, listing, generation, filePath: 'x' } as unknown as JobDocument;
        const documents = loaded.map(({ path, accepted, invalid, failed }, number) => ({
          _id: fileId(listing, number),
          job: _id,
          listing,
          number,
          audience,
          generation,
          path,
          accepted,
          rejected: invalid > 0 ? { bad_identifier: invalid } : {},
          status: failed ? JobStatus.error : JobStatus.done,
        }));
        if (documents.length > 0) await files.insertListing(documents as FileDocument[]);
        for (const file of loaded) newest.set(file.path, file);
        // Twice: a dispatcher may crash after the first time.
        for (let time = 0; time < 2; time++) {
          const { uploaded, failed, rejected } = await files.changeBy(job);
          await audiences.recordLoad(job, {
            newDevices: 1,
            matchedDevices: 0,
            uploadedDevices: uploaded,
            failedFiles: failed,
            rejected,
            errors: loaded.some((file) => file.failed)
              ? [{ code: 'not_text', message: '', file: 'f' }]
              : null,
          });
        }
        const good = [...newest.values()].filter(({ failed }) => !failed);
        const invalid = [...newest.values()].reduce((sum, file) => sum + file.invalid, 0);
        const shown = await db.collection<AudienceDocument>(collections.audiences).findOne({ _id: audience });
        expect(shown).toMatchObject({
          uploadedDevices: good.reduce((sum, { accepted }) => sum + accepted, 0),
          failedFiles: newest.size - good.length,
          rejected: invalid > 0 ? { bad_identifier: invalid } : {},
          outcome: good.length === newest.size ? JobStatus.done : JobStatus.error,
        });
      }
    }),
    { numRuns: 20 },
  );
});
