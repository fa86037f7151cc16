/** Uploads of the console: a browser sends a file straight to the shared bucket, with a URL presigned for this object. */
import { randomBytes } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { z } from 'zod';
import { serviceCredentials } from '../../../pipeline/sources/credentials.ts';
import type { ConfigOf } from '../../../schemas/config.ts';
import type { signedUpload } from '../../../schemas/http-console.ts';

/** The upload must begin within this time. */
const EXPIRES_S = 900;

type Settings = Pick<
  ConfigOf<'api'>,
  's3Endpoint' | 's3PublicEndpoint' | 's3Region' | 's3Bucket' | 's3AccessKeyId' | 's3SecretAccessKey'
>;

/** Escapes as signatures require: more than encodeURIComponent. */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** A new folder per upload: no file is ever overwritten. */
const newFolder = () =>
  `uploads/${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(8).toString('hex')}/`;

export function createUploadUrls(config: Settings) {
  const { s3Region: region, s3Bucket: Bucket } = config;
  const endpoint = config.s3PublicEndpoint || config.s3Endpoint;
  const credentials = serviceCredentials(config);
  // Sends no requests: resolves the bucket's endpoint and the credentials.
  const s3 = new S3Client({ region, ...(credentials ? { credentials } : {}) });
  const { url: bucket } = s3.config.endpointProvider(
    { Bucket, Region: region, ...(endpoint ? { Endpoint: endpoint, ForcePathStyle: true } : {}) },
    {},
  );
  const signer = new SignatureV4({
    credentials: s3.config.credentials,
    region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
  });

  return {
    /** For the pages' content policy (connect-src). */
    origin: bucket.origin,

    async sign(
      prefix: string,
      { name, size }: { name: string; size: number },
    ): Promise<z.output<typeof signedUpload>> {
      const path = newFolder() + name;
      const key = (prefix + path).split('/').map(escaped).join('/');
      const request = {
        method: 'PUT',
        protocol: bucket.protocol,
        hostname: bucket.hostname,
        path: `${bucket.pathname.replace(/\/$/, '')}/${key}`,
        query: {},
        headers: {
          host: bucket.host,
          'content-length': String(size),
          'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
        },
      };
      const signingDate = new Date();
      const signed = await signer.presign(request, {
        expiresIn: EXPIRES_S,
        signingDate,
        unhoistableHeaders: new Set(['content-length']),
      });
      const query = new URLSearchParams(signed.query as Record<string, string>);
      return {
        url: `${bucket.origin}${request.path}?${query}`,
        file_path: path,
        expires_at: new Date(signingDate.getTime() + 1_000 * EXPIRES_S).toISOString(),
      };
    },
  };
}
