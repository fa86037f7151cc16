/**
 * requested → stored: downloads the archive. The platform serves it only once, so each piece is stored before the next is read, and
 * unpacking is a later step.
 */
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import type { DropBatchDocument } from '../../schemas/drop-documents.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';

export const PIECE_BYTES = 8 << 20;

export async function storeArchive(
  { store, platform, say }: Pick<SessionDeps, 'store' | 'platform' | 'say'>,
  { _id }: DropBatchDocument,
): Promise<DropBatchDocument> {
  const downloaded = await platform.download();
  if (downloaded.outcome === 'nothing') {
    say('nothing new to download');
    return store.update(_id, { state: 'complete', completedAt: new Date() });
  }
  if (downloaded.outcome === 'preparing')
    throw new CommandFailed('drop_preparing', 'DROP is still preparing the download: run this again later');
  if (downloaded.outcome === 'conflict')
    throw new CommandFailed(
      'drop_batch_lost',
      `DROP waits for the statuses of a batch that this installation does not have (${downloaded.message}). ` +
        'Its download did not arrive, or another system made it: ask DROP support for a re-download, then run this again',
    );
  let bytes = 0;
  let pieces = 0;
  for await (const piece of inPieces(downloaded.body)) {
    faultPoint('drop:before-store');
    await store.putArchive(_id, pieces++, piece);
    bytes += piece.length;
  }
  if (downloaded.length !== undefined && bytes !== downloaded.length)
    throw new CommandFailed(
      'drop_unavailable',
      `the download ended after ${bytes} of ${downloaded.length} bytes: run this again`,
    );
  const stored = await store.update(_id, { state: 'stored', bytes });
  faultPoint('drop:after-store');
  return stored;
}

async function* inPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const some of body) {
    held.push(some);
    size += some.length;
    if (size < PIECE_BYTES) continue;
    const all = Buffer.concat(held);
    for (let from = 0; from + PIECE_BYTES <= all.length; from += PIECE_BYTES)
      yield all.subarray(from, from + PIECE_BYTES);
    const rest = all.subarray(all.length - (all.length % PIECE_BYTES));
    held = [rest];
    size = rest.length;
  }
  if (size > 0) yield Buffer.concat(held);
}
