/** Uploads files with the partner's storage keys: many at once, large ones in parts. Memory is bounded by the parts in flight. */
import { open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { inParallel } from '../../../pipeline/runtime/in-parallel.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import type { LocalFile } from './local-files.ts';
import { type StoragePlace, storageProblem } from './storage.ts';

interface UploadOptions {
  /** The folder of this upload, relative to the partner's prefix. */
  to: string;
  atOnce: number;
  signal: AbortSignal;
  /** Called with the number of bytes uploaded. */
  onBytes(bytes: number): void;
  onFile(): void;
}

const PART_BYTES = 16 * 1024 * 1024;
/** The maximum of S3. */
const MAX_PARTS = 10_000;

interface Target {
  Bucket: string;
  Key: string;
}
interface Part {
  start: number;
  length: number;
}

function partsOf(size: number): Part[] {
  const length = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS));
  const count = Math.max(1, Math.ceil(size / length));
  return Array.from({ length: count }, (_, n) => ({
    start: n * length,
    length: Math.min(length, size - n * length),
  }));
}

async function read({ source, size, mtimeMs }: LocalFile, { start, length }: Part): Promise<Buffer> {
  const unread = (reason: string) => new CommandError(exitCodes.failed, 'unreadable', `${source}: ${reason}`);
  const file = await open(source).catch((error: Error) => {
    throw unread(error.message);
  });
  try {
    const bytes = Buffer.alloc(length);
    await file.read(bytes, 0, length, start);
    const now = await file.stat();
    if (now.size !== size || now.mtimeMs !== mtimeMs) throw unread('it changed while it was uploaded');
    return bytes;
  } finally {
    await file.close();
  }
}

export async function uploadFiles(
  { s3, bucket, prefix }: StoragePlace & { s3: S3Client },
  files: readonly LocalFile[],
  { to, atOnce, signal, onBytes, onFile }: UploadOptions,
): Promise<void> {
  const abort = { abortSignal: signal };

  async function putWhole(file: LocalFile, target: Target): Promise<void> {
    const Body = await read(file, { start: 0, length: file.size });
    await s3.send(new PutObjectCommand({ ...target, Body }), abort);
    onBytes(file.size);
  }

  async function putParts(file: LocalFile, target: Target): Promise<void> {
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target), abort);
    const upload = { ...target, UploadId };
    const parts = partsOf(file.size);
    const tags: (string | undefined)[] = [];
    try {
      await inParallel(parts, atOnce, async (part, n) => {
        const Body = await read(file, part);
        const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber: n + 1, Body }), abort);
        tags[n] = ETag;
        onBytes(part.length);
      });
      const Parts = tags.map((ETag, n) => ({ ETag, PartNumber: n + 1 }));
      await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }), abort);
    } catch (error) {
      // Otherwise the parts would remain and be billed.
      await s3.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
      throw error;
    }
  }

  const put = async (file: LocalFile): Promise<void> => {
    const target = { Bucket: bucket, Key: prefix + to + file.name };
    try {
      await (file.size <= PART_BYTES ? putWhole(file, target) : putParts(file, target));
    } catch (error) {
      signal.throwIfAborted();
      throw storageProblem(error, `${file.source} was not uploaded`);
    }
    onFile();
  };

  // One after the other, because the parts of a large file use all connections.
  await inParallel(
    files.filter(({ size }) => size <= PART_BYTES),
    atOnce,
    put,
  );
  for (const file of files) if (file.size > PART_BYTES) await put(file);
}
