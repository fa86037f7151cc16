/** stored → read: the archive's lists, as packed entries. The archive is removed afterwards. */
import { DIGEST_BYTES } from '../../pipeline/formats/device-digest.ts';
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import type { DropBatchDocument, DropFile } from '../../schemas/drop-documents.ts';
import { type DropEntries, PART_ENTRIES } from '../stores/drop.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';
import { brokerOf, createListReader, ListError, type ListRow, listOf } from './list-files.ts';
import { readArchive } from './read-archive.ts';
import { PIECE_BYTES } from './store-archive.ts';

const NO_DIGEST = Buffer.alloc(DIGEST_BYTES);

/** Packs entries into parts, and returns full parts. */
function createPacker(batch: number, file: number, { keepsDigests }: { keepsDigests: boolean }) {
  let ids: string[] = [];
  let digests: Buffer[] = [];
  let number = 0;
  const full: DropEntries[] = [];
  const pack = () => {
    full.push({
      part: { batch, file, number: number++ },
      ids: Buffer.from(ids.join(''), 'latin1'),
      digests: Buffer.concat(digests),
    });
    ids = [];
    digests = [];
  };
  return {
    full,
    add({ id, digest }: ListRow): void {
      ids.push(id);
      if (keepsDigests) digests.push(digest ?? NO_DIGEST);
      if (ids.length === PART_ENTRIES) pack();
    },
    end: () => {
      if (ids.length > 0) pack();
    },
  };
}

/** Removed entries matter only if they come from a MAID list. */
const concerns = (file: DropFile, { list }: ListRow) => file.list !== 'Removed' || list === 'MAID';

export async function readLists(
  { store, say, brokerId }: Pick<SessionDeps, 'store' | 'say' | 'brokerId'>,
  { _id, bytes }: DropBatchDocument,
): Promise<DropBatchDocument> {
  faultPoint('drop:before-read');
  const files: DropFile[] = [];
  const packers: ReturnType<typeof createPacker>[] = [];
  let unreadable = 0;

  function open(name: string) {
    const list = listOf(name);
    if (!list) {
      say(`${name} is not a DROP list: skipped`);
      return undefined;
    }
    if (brokerId !== undefined && brokerOf(name) !== brokerId)
      throw new ListError(`${name} is not for data broker ${brokerId} (HEADRACE_DROP_BROKER_ID)`);
    const file: DropFile = { name, list, entries: 0 };
    const packer = createPacker(_id, files.length, { keepsDigests: list === 'MAID' || list === 'Removed' });
    files.push(file);
    packers.push(packer);
    const reader = createListReader(name, (row) => {
      if (!concerns(file, row)) return;
      file.entries++;
      packer.add(row);
    });
    return {
      take: reader.take,
      end: () => {
        unreadable += reader.end();
        packer.end();
      },
    };
  }
  async function settle() {
    for (const { full } of packers) for (const part of full.splice(0)) await store.putEntries(part);
  }

  try {
    await readArchive(store.archive(_id, Math.ceil(bytes / PIECE_BYTES)), open, settle);
  } catch (error) {
    if (!(error instanceof ListError)) throw error;
    throw new CommandFailed(error.code, `batch ${_id}: ${error.message}`, { cause: error });
  }
  if (unreadable > 0) say(`rows without a valid id, which get no status: ${unreadable}`);
  const read = await store.update(_id, { state: 'read', files, unreadable });
  faultPoint('drop:after-read');
  await store.removeArchive(_id);
  return read;
}
