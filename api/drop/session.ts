/**
 * A DROP session: finishes what an earlier run left, then downloads a batch, suppresses and deletes its devices, and uploads a status
 * for every entry. The batch's state says what is stored (schemas/drop-documents.ts); each step leads from one state to the next and is
 * idempotent. Every request to the platform is recorded before it is sent.
 */
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import type { DropBatchDocument, DropState } from '../../schemas/drop-documents.ts';
import { amendLateMatches } from './amend-statuses.ts';
import { deleteMatches } from './delete-matches.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';
import { listEntries } from './list-entries.ts';
import { readLists } from './read-lists.ts';
import { storeArchive } from './store-archive.ts';
import { uploadStatuses } from './upload-statuses.ts';

/** The step out of each state. */
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
  /** Entries of earlier batches whose status was amended to deleted. */
  amended: number;
}

export async function runSession(deps: SessionDeps): Promise<SessionOutcome> {
  const { store, erasure } = deps;
  await erasure.requireReady();
  let batch = await store.open();
  let amended = 0;
  if (!batch) {
    amended = await amendLateMatches(deps);
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
