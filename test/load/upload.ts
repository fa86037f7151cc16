/** Uploads generated files to the real S3 server with the partner's own credentials. */
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { Generator } from '../../deploy/cli/load/generate.ts';
import { uploadFiles } from '../../deploy/cli/partner/upload-files.ts';
import type { Bench } from './bench-stack.ts';

const compress = promisify(gzip);

type Partner = Bench['stack']['partner'];

export function createUploader({ s3 }: Partner) {
  const { region, endpoint, bucket, prefix, access_key_id, secret_access_key } = s3;
  const client = new S3Client({
    region,
    endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: access_key_id!, secretAccessKey: secret_access_key! },
  });
  return {
    /** Returns the size of the object. Compresses if `path` ends in `.gz`. */
    async put(path: string, bytes: Buffer): Promise<number> {
      // 6 is gzip's default level, and so what partners send.
      const body = path.endsWith('.gz') ? await compress(bytes, { level: 6 }) : bytes;
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: prefix + path, Body: body }));
      return body.length;
    },
    /** Returns the size of the object. */
    async get(path: string): Promise<number> {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: prefix + path }));
      return (await Body!.transformToByteArray()).length;
    },
    /** Uploads a local file in parts, in bounded memory. */
    async putLocal(path: string, source: string, signal: AbortSignal): Promise<void> {
      const { size, mtimeMs } = statSync(source);
      await uploadFiles({ s3: client, bucket, prefix }, [{ source, name: path, size, mtimeMs }], {
        to: '',
        atOnce: 2,
        signal,
        onBytes() {},
        onFile() {},
      });
    },
    close: () => client.destroy(),
  };
}

export async function uploadFile(partner: Partner, path: string, bytes: Buffer): Promise<void> {
  const uploader = createUploader(partner);
  try {
    await uploader.put(path, bytes);
  } finally {
    uploader.close();
  }
}

export const fileName = (number: number, gzipped: boolean): string =>
  `part-${String(number).padStart(6, '0')}.csv${gzipped ? '.gz' : ''}`;

/** Uploads all rows of a prefix, with one file in memory at a time. Returns the total size of the objects. */
export async function uploadPrefix(
  bench: Bench,
  generator: Generator,
  to: { prefix: string; rows: number; files: number; gzip: boolean },
): Promise<number> {
  const uploader = createUploader(bench.stack.partner);
  let bytes = 0;
  try {
    for (const [number, rows] of spread(to.rows, to.files).entries()) {
      bench.signal.throwIfAborted();
      bench.progress.live(`uploading file ${number + 1} of ${to.files}`);
      bytes += await uploader.put(to.prefix + fileName(number, to.gzip), generator.nextFile({ rows }).bytes);
    }
  } finally {
    uploader.close();
  }
  bench.progress.step(`uploaded ${to.files} files, ${to.rows} rows, ${(bytes / 1e6).toFixed(1)} MB`);
  return bytes;
}

/** Rows of each of `files` files, as evenly as possible. */
export function spread(rows: number, files: number): number[] {
  return Array.from(
    { length: files },
    (_, file) => Math.floor((rows * (file + 1)) / files) - Math.floor((rows * file) / files),
  );
}
