/** An S3 server on the file system: versitygw, which has its own users, so that partners get real credentials. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Download } from './cache.ts';
import { runTool } from './child.ts';
import type { StateFolder } from './state.ts';
import { START_MS, type Startable } from './supervise.ts';
import { needTool } from './tools.ts';

const version = '1.8.0';
/** No bucket can have this name, so it hides no object. */
const healthPath = '/_health';
export const s3Region = 'us-east-1';
export const sharedBucket = 'headrace-shared';

export const s3Download: Download = {
  folder: `versitygw-${version}`,
  title: `versitygw ${version} (S3)`,
  size: { bytes: 112_000_000, folder: 'modules/cache/download', isBuilt: true },
  checkTools: () =>
    needTool('go', 'build versitygw, the S3 server', { server: 'S3', variable: 'HEADRACE_S3_ENDPOINT' }),
  async fetchInto(directory, signal) {
    const source = `github.com/versity/versitygw/cmd/versitygw@v${version}`;
    const modules = join(directory, 'modules');
    const env = { GOBIN: directory, GOMODCACHE: modules, GOFLAGS: '-modcacherw', CGO_ENABLED: '0' };
    await runTool('go', ['install', source], { env, signal });
    rmSync(modules, { recursive: true });
  },
};

export const s3Endpoint = (folder: StateFolder): string => `http://127.0.0.1:${folder.state.ports.s3}`;

async function answersHealth(endpoint: string): Promise<boolean> {
  try {
    return (await fetch(endpoint + healthPath, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

export function s3Server(home: () => Promise<string>): Startable {
  return {
    name: 's3',
    ports: ['s3'],
    deadlineMs: START_MS,
    async prepare(folder) {
      const files = join(folder.data('s3'), 'files');
      const users = join(folder.data('s3'), 'users');
      // File attributes would limit a bucket policy to 4 KiB, enough for seven partners.
      const metadata = join(folder.data('s3'), 'metadata');
      for (const directory of [files, users, metadata])
        mkdirSync(directory, { recursive: true, mode: 0o700 });
      const listen = ['--port', `127.0.0.1:${folder.state.ports.s3}`, '--region', s3Region, '--keep-alive'];
      return {
        command: join(await home(), 'versitygw'),
        args: [
          ...[...listen, '--quiet', '--health', healthPath, '--iam-dir', users],
          ...['posix', '--sidecar', metadata, files],
        ],
        // Not as arguments, which every user of the machine can read.
        env: {
          ...process.env,
          ROOT_ACCESS_KEY: folder.state.secrets.s3AccessKeyId,
          ROOT_SECRET_KEY: folder.state.secrets.s3SecretAccessKey,
        },
      };
    },
    answers: (folder) => answersHealth(s3Endpoint(folder)),
  };
}

/** The console uploads from its own origin, whose port differs from stack to stack. */
const fromThisMachine = {
  CORSRules: [
    {
      AllowedOrigins: ['http://127.0.0.1:*', 'http://localhost:*'],
      AllowedMethods: ['PUT'],
      AllowedHeaders: ['content-type'],
    },
  ],
};

export async function makeSharedBucket(at: {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}): Promise<void> {
  const { CreateBucketCommand, HeadBucketCommand, PutBucketCorsCommand, S3Client } = await import(
    '@aws-sdk/client-s3'
  );
  const client = new S3Client({
    endpoint: at.endpoint,
    region: at.region,
    credentials: { accessKeyId: at.accessKeyId, secretAccessKey: at.secretAccessKey },
    forcePathStyle: true,
  });
  const Bucket = at.bucket;
  try {
    await client.send(new HeadBucketCommand({ Bucket })).catch((error) => {
      if (error.$metadata?.httpStatusCode !== 404) throw error;
      return client.send(new CreateBucketCommand({ Bucket }));
    });
    await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: fromThisMachine }));
  } finally {
    client.destroy();
  }
}
