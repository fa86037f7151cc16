/** Generated files to the real S3 server, with the partner's own credentials. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { BenchStack } from './bench-stack.ts';

const compress = promisify(gzip);

export type Uploader = ReturnType<typeof createUploader>;

export function createUploader({ partner, config }: BenchStack) {
  const { region, bucket, prefix, access_key_id, secret_access_key } = partner.s3;
  const client = new S3Client({
    region,
    endpoint: config.s3Endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
  });
  return {
    /** Returns the bytes of the object. `path` ends in `.gz` when it is to be compressed. */
    async put(path: string, bytes: Buffer): Promise<number> {
      // 6 is what gzip does unless told otherwise, and so what partners send.
      const body = path.endsWith('.gz') ? await compress(bytes, { level: 6 }) : bytes;
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: prefix + path, Body: body }));
      return body.length;
    },
    close: () => client.destroy(),
  };
}
