/**
 * deleted → complete: uploads the status of every entry. The platform has no idempotency key, but accepts a file name only once: a name
 * is recorded before the upload, and an upload without a response is repeated under the same name.
 */
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import { type DropBatchDocument, DropStatus, type DropUpload } from '../../schemas/drop-documents.ts';
import { countOf, type DropStore, idAt, PART_ENTRIES } from '../stores/drop.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';
import { UPLOAD_HEADER, withSuffix } from './list-files.ts';
import type { Sent } from './platform.ts';

type Deps = Pick<SessionDeps, 'store' | 'platform' | 'say' | 'progress'>;

/** Whole parts: about 7 MB. */
const ROWS_PER_FILE = 25 * PART_ENTRIES;
const MAX_REJECTIONS = 3;

/** Empty lists and removed entries need no status. */
function planUploads({ files }: DropBatchDocument): DropUpload[] {
  return files.flatMap(({ name, list, entries }, file) => {
    if (list === 'Removed') return [];
    const count = Math.ceil(entries / ROWS_PER_FILE);
    return Array.from(
      { length: count },
      (_, n): DropUpload => ({
        name: count === 1 ? name : withSuffix(name, `p${n + 1}`),
        file,
        from: n * ROWS_PER_FILE,
        to: Math.min(entries, (n + 1) * ROWS_PER_FILE),
        state: 'pending',
        rejections: [],
      }),
    );
  });
}

async function statusFile(store: DropStore, batch: number, { file, from, to }: DropUpload): Promise<string> {
  const rows: string[] = [UPLOAD_HEADER];
  for await (const entries of store.entries(batch, file)) {
    const first = entries.part.number * PART_ENTRIES;
    if (first < from || first >= to) continue;
    // Other lists than MAID have no stored statuses: nothing was found.
    const statuses = await store.statuses(entries.part);
    for (let n = 0; n < countOf(entries); n++)
      rows.push(`${idAt(entries.ids, n)},${statuses?.[n] ?? DropStatus.notFound}`);
  }
  if (rows.length !== to - from + 1)
    throw new Error(`batch ${batch}: ${rows.length - 1} statuses for ${to - from} entries`);
  return `${rows.join('\n')}\n`;
}

const suffixOf = (name: string): string => /_([A-Za-z0-9]{1,10})\.csv$/.exec(name)?.[1] ?? '';

export async function uploadStatuses(deps: Deps, batch: DropBatchDocument): Promise<DropBatchDocument> {
  const { store, say, progress } = deps;
  const uploads = batch.uploads.length > 0 ? batch.uploads : planUploads(batch);
  const save = () => store.update(batch._id, { uploads });
  for (const [n, upload] of uploads.entries()) {
    const csv = upload.state === 'accepted' ? '' : await statusFile(store, batch._id, upload);
    while (upload.state !== 'accepted') {
      const sent = await sendStatuses(deps, upload, csv, save);
      if (sent.outcome !== 'rejected') {
        upload.state = 'accepted';
        await save();
        faultPoint('drop:after-accept');
        continue;
      }
      say(`DROP has rejected ${upload.name}: ${sent.message}`);
      upload.rejections.push({ name: upload.name, message: sent.message });
      upload.state = 'pending';
      upload.name = withSuffix(batch.files[upload.file]!.name, `p${n + 1}r${upload.rejections.length}`);
      await save();
      if (upload.rejections.length % MAX_REJECTIONS === 0)
        throw new CommandFailed(
          'drop_rejected',
          `DROP has rejected the statuses of ${batch.files[upload.file]!.name} ${upload.rejections.length} times: ${sent.message}`,
        );
    }
    progress('uploading', n + 1, uploads.length);
  }
  const complete = await store.update(batch._id, { state: 'complete', completedAt: new Date(), uploads });
  // Late matches and withdrawals need the other entries.
  for (const [file, { list }] of batch.files.entries())
    if (list !== 'MAID') await store.removeEntries(batch._id, file);
  return complete;
}

/** Uploads a file. A file that an earlier run may have uploaded counts as accepted if the platform knows it or waits for no statuses. */
async function sendStatuses(
  { platform }: Deps,
  upload: DropUpload,
  csv: string,
  save: () => Promise<unknown>,
): Promise<Sent> {
  const mayHaveArrived = upload.state === 'sending';
  upload.state = 'sending';
  await save();
  faultPoint('drop:before-post');
  const sent = await platform.upload(upload.name, csv);
  faultPoint('drop:after-post');
  if (sent.outcome !== 'repeated' && sent.outcome !== 'conflict') return sent;
  if (mayHaveArrived || sent.isPerhapsThis) return sent;
  if (sent.outcome === 'repeated')
    return { outcome: 'rejected', message: `a file named ${upload.name} was uploaded by someone else` };
  // The batch was answered in the portal: these statuses correct that answer.
  return platform.amend(withSuffix(upload.name, `${suffixOf(upload.name)}a`.slice(0, 10)), csv);
}
