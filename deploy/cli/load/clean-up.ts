/** Removes what the load test created, as far as a partner can. */
import { DeleteObjectsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { inParallel } from '../../../pipeline/runtime/in-parallel.ts';
import { CommandError, exitCodes, usageError } from '../partner/exit-codes.ts';
import { type StoragePlace, storageProblem } from '../partner/storage.ts';
import type { SubmittedJob } from './jobs.ts';
import type { Layout } from './layouts.ts';

type Storage = StoragePlace & { s3: S3Client };

interface CleanedUp {
  objects: number;
  audiences: number;
}

const AUDIENCES_AT_ONCE = 8;

/** Keys in groups that one request can delete. */
async function* keysUnder({ s3, bucket }: Storage, Prefix: string): AsyncGenerator<string[]> {
  let after: string | undefined;
  do {
    const { Contents = [], IsTruncated } = await s3.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix, StartAfter: after }),
    );
    const keys = Contents.map(({ Key }) => Key!);
    if (keys.length > 0) yield keys;
    after = IsTruncated ? keys.at(-1) : undefined;
  } while (after !== undefined);
}

/** Foreign files would be loaded and deleted with ours. */
export async function checkEmpty(storage: Storage, folder: string): Promise<void> {
  const found = await keysUnder(storage, storage.prefix + folder)
    .next()
    .catch((error) => {
      throw storageProblem(error, 'the storage cannot be used');
    });
  if (!found.done) throw usageError(`${folder} is not empty: choose another --prefix`);
}

async function deleteGroup({ s3, bucket }: Storage, keys: readonly string[]): Promise<void> {
  const Objects = keys.map((Key) => ({ Key }));
  const { Errors = [] } = await s3.send(
    new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
  );
  const [first] = Errors;
  if (first) throw new CommandError(exitCodes.failed, 'storage_failed', `${first.Key}: ${first.Message}`);
}

/** Deletes what the storage lists, not what was uploaded by our count: the response to an upload may have been lost. */
async function deleteObjects(
  storage: Storage,
  folder: string,
  onDeleted: (objects: number) => void,
): Promise<number> {
  let deleted = 0;
  for (;;) {
    const before = deleted;
    for await (const keys of keysUnder(storage, storage.prefix + folder)) {
      await deleteGroup(storage, keys);
      deleted += keys.length;
      onDeleted(deleted);
    }
    if (deleted === before) return deleted;
  }
}

/** Audiences first: a cancelled load no longer reads its files. */
export async function cleanUp(
  storage: Storage,
  folder: string,
  { remove }: Pick<Layout, 'remove'>,
  jobs: readonly SubmittedJob[],
  onDeleted: (objects: number) => void,
): Promise<CleanedUp> {
  let audiences = 0;
  if (remove)
    await inParallel(jobs, AUDIENCES_AT_ONCE, async ({ id }) => {
      await remove(id);
      audiences++;
    });
  try {
    return { objects: await deleteObjects(storage, folder, onDeleted), audiences };
  } catch (error) {
    throw storageProblem(error, `not all of ${folder} was deleted`);
  }
}
