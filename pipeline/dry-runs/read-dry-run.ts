/**
 * Reads the files of a dry run as split and validate would, and judges them as dispatch would. Nothing is published or merged. Reading
 * stops at a limit of uncompressed bytes: the last file is then judged by its first part, and the result says so. The bytes read count
 * towards the partner's daily quota.
 */

import type { DryFile } from '../../schemas/dry-run-documents.ts';
import type { JobDocument, JobError } from '../../schemas/job-documents.ts';
import { isCompressed } from '../formats/compressions.ts';
import { cutFile } from '../formats/cut-file.ts';
import type { Cut } from '../formats/cut-rows.ts';
import type { KeyTable } from '../formats/key-table.ts';
import { type ParsedRows, rowFormatOf } from '../formats/row-formats.ts';
import type { ListedObject } from '../sources/object-store.ts';
import {
  findObjects,
  problemOf,
  problemOfStore,
  type SourceOf,
  withMatches,
} from '../stages/dispatch/list/find-objects.ts';
import { judgeFile } from '../stages/dispatch/load/judge-file.ts';
import { countBatch, noBatches } from '../stages/dispatch/load/tally-files.ts';
import { failureOf } from '../stages/split-files.ts';
import { type KeyHints, withHint } from '../stores/key-hints.ts';

interface ReadDependencies {
  sourceOf: SourceOf;
  keysOf(job: JobDocument): Promise<KeyTable>;
  keyHints: Pick<KeyHints, 'ofRows'>;
  batchBytes: number;
  maxInvalidShare: number;
  dryRunMb: number;
  /** Charges the quota. Returns an error if it is used up. */
  spendBytes(partner: string, bytes: number, signal: AbortSignal): Promise<JobError | undefined>;
}

export interface DryRead {
  fileCount: number;
  bytes: number;
  prefixMatches: string[];
  files: DryFile[];
  errors: JobError[] | null;
}

/** Per file. */
const MAX_EXAMPLES = 5;
const MAX_FILES = 1_000;

export function createReadDryRun(deps: ReadDependencies) {
  async function find(job: JobDocument, signal: AbortSignal) {
    const objects: ListedObject[] = [];
    let bytes = 0;
    let fileCount = 0;
    let prefixMatches: string[] = [];
    for await (const page of findObjects(deps.sourceOf, job, signal)) {
      fileCount += page.objects.length;
      const error = problemOf(job, fileCount, page);
      if (error) return { fileCount, bytes, prefixMatches, objects: [], errors: [error] };
      prefixMatches = withMatches(prefixMatches, page);
      for (const object of page.objects) {
        bytes += object.size;
        if (objects.length < MAX_FILES) objects.push(object);
      }
    }
    return { fileCount, bytes, prefixMatches, objects, errors: null };
  }

  /** Reads up to a number of bytes and returns how many it read; `refused` if the quota is used up. */
  async function readFile(
    job: JobDocument,
    { key: path, etag, size }: ListedObject,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<{ file: DryFile; bytes: number; refused: JobError | undefined }> {
    const { store, bucket } = await deps.sourceOf(job);
    const layout = job.kind === 'audience' ? 'audience' : 'attributes';
    const options = {
      ...(layout === 'attributes' ? { keys: await deps.keysOf(job) } : {}),
      maxRejects: MAX_EXAMPLES,
    } as const;
    const listed = { path, compressed: isCompressed(path, job.compressed), batch_bytes: deps.batchBytes };
    const open = (from: number) => store.open(bucket, path, { etag, size, from, signal });
    const tally = noBatches();
    const examples: DryFile['examples'] = [];
    let refused: JobError | undefined;
    for await (const cut of cutFile(listed, null, { open, failureOf })) {
      signal.throwIfAborted();
      const parsed = cut.failure ? null : rowFormatOf(path).parse({ ...cut, layout }, options);
      countBatch(tally, entryOf(cut, parsed));
      examples.push(...(parsed?.rejects ?? []).slice(0, MAX_EXAMPLES - examples.length));
      refused = await deps.spendBytes(job.partner, cut.end - cut.start, signal);
      if (refused || tally.failed || tally.bytes >= maxBytes) break;
    }
    const isWhole = tally.lastBatch >= 0;
    tally.lastBatch = tally.joined - 1;
    const { rows, accepted, rejected, failure: found } = judgeFile(0, tally, deps.maxInvalidShare)!;
    const isMistaken = found?.code === 'too_many_invalid' && examples.length > 0;
    const failure = isMistaken ? withHint(found, await deps.keyHints.ofRows(job, examples)) : found;
    const file = { path, rows, accepted, rejected, failure, examples, isWhole };
    return { file, bytes: tally.bytes, refused };
  }

  return async (job: JobDocument, signal: AbortSignal): Promise<DryRead> => {
    try {
      const { objects, ...found } = await find(job, signal);
      const files: DryFile[] = [];
      let left = deps.dryRunMb * 1_000_000;
      for (const object of objects) {
        if (left <= 0) break;
        const { file, bytes, refused } = await readFile(job, object, left, signal);
        files.push(file);
        if (refused) return { ...found, files, errors: [refused] };
        left -= bytes;
      }
      return { ...found, files };
    } catch (error) {
      return { fileCount: 0, bytes: 0, prefixMatches: [], files: [], errors: [problemOfStore(error)] };
    }
  };
}

/** The ledger entry that a load would write. */
function entryOf({ batch, last, start, end, failure }: Cut, parsed: ParsedRows | null) {
  const failed = failure ?? parsed?.failure;
  return {
    job: 0,
    attempt: 0,
    file: 0,
    batch,
    last,
    start,
    end,
    rows: parsed?.rows ?? 0,
    accepted: parsed?.accepted ?? 0,
    pairsRead: parsed?.pairsRead ?? 0,
    pairs: parsed?.pairs ?? 0,
    rejected: parsed?.rejected ?? {},
    ...(parsed?.events?.length ? { events: parsed.events } : {}),
    ...(parsed?.eventsOverflow ? { eventsOverflow: true as const } : {}),
    ...(failed ? { failure: { ...failed, line: failed.line ?? undefined } as never } : {}),
  };
}
