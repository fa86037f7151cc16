/**
 * One session with DROP: what an earlier run left is finished, then a batch is downloaded, its devices are kept out and deleted, and
 * every entry is answered. The batch's state says what is durable (schemas/drop-documents.ts); each step starts from one state, may be
 * repeated, and ends in the next. Nothing is asked of the platform that was not written down before.
 */
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import type { DropBatchDocument, DropState } from '../../schemas/drop-documents.ts';
import { amendArrivals } from './amend-statuses.ts';
import { deleteMatches } from './delete-matches.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';
import { listEntries } from './list-entries.ts';
import { readLists } from './read-lists.ts';
import { storeArchive } from './store-archive.ts';
import { uploadStatuses } from './upload-statuses.ts';

/** The step that leads out of each state. */
const steps: Record<
  Exclude<DropState, 'complete'>,
  (deps: SessionDeps, batch: DropBatchDocument) => Promise<DropBatchDocument>
> = {
  requested: storeArchive,
  stored: readLists,
  read: listEntries,
  listed: deleteMatches,
  deleted: uploadStatuses,
};

interface SessionOutcome {
  batch: DropBatchDocument;
  /** Entries of earlier batches that were reported as deleted now. */
  amended: number;
}

export async function runSession(deps: SessionDeps): Promise<SessionOutcome> {
  const { store, erasure } = deps;
  await erasure.requireReady();
  let batch = await store.open();
  let amended = 0;
  if (!batch) {
    amended = await amendArrivals(deps);
    batch = await store.begin(new Date());
    faultPoint('drop:after-begin');
  } else deps.say(`continuing batch ${batch._id} (${batch.state})`);
  try {
    while (batch.state !== 'complete') batch = await steps[batch.state](deps, batch);
  } catch (error) {
    if (error instanceof CommandFailed) await store.update(batch._id, { problem: error.message });
    throw error;
  }
  faultPoint('drop:after-complete');
  return { batch, amended };
}
