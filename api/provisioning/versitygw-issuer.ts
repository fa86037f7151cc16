/** versitygw: users created through its admin API, confined by the bucket policy. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteBucketPolicyCommand,
  GetBucketPolicyCommand,
  PutBucketPolicyCommand,
} from '@aws-sdk/client-s3';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { type StorageCredentials, serviceCredentials } from '../../pipeline/sources/credentials.ts';
import { connectStorage } from '../../pipeline/sources/storage-client.ts';
import { createLease, type Leases } from '../../pipeline/stores/lease.ts';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import { emptyPolicy, type Policy, partnerStatements, withStatements } from './policies.ts';
import type { StorageIssuer, StoragePartner } from './storage-issuer.ts';

interface AdminOptions {
  endpoint: string;
  region: string;
  credentials: StorageCredentials;
}

/** Its admin API; requests are signed like S3 requests. */
export function createVersitygwAdmin({ endpoint, region, credentials }: AdminOptions) {
  const signer = new SignatureV4({
    credentials,
    region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
  });

  async function send(path: string, body = ''): Promise<void> {
    const url = new URL(path, endpoint);
    const method = 'PATCH';
    const signed = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { host: url.host },
      body,
    });
    const { host: _, ...headers } = signed.headers;
    const signal = AbortSignal.timeout(20_000);
    const response = await fetch(url, { method, headers, body: body || null, signal });
    if (response.ok) return;
    const answer = (await response.text()).replace(/\s+/g, ' ').slice(0, 300);
    throw new Error(`the storage answered ${response.status}: ${answer}`);
  }

  return {
    createUser: ({ accessKeyId, secretAccessKey }: StorageCredentials) =>
      send(
        '/create-user',
        `<Account><Access>${accessKeyId}</Access><Secret>${secretAccessKey}</Secret><Role>user</Role></Account>`,
      ),
    deleteUser: (accessKeyId: string) => send(`/delete-user?access=${encodeURIComponent(accessKeyId)}`),
  };
}

/** The bucket policy is one document for all partners, so changing it takes a lock. It is a lease: a dead process loses it. */
type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

const LEASE_MS = 30_000;
const PATIENCE_MS = 60_000;
const LOCK = 'lock:storage-policy';

function createPolicyLock(counters: Leases): Exclusive {
  return async (work) => {
    const lease = createLease(counters, LOCK, LEASE_MS);
    const giveUp = performance.now() + PATIENCE_MS;
    while (!(await lease.take())) {
      if (performance.now() > giveUp)
        throw new Error('timed out waiting for the lock of the bucket policy, which another process holds');
      await sleep(50 + Math.random() * 100);
    }
    return lease.hold(work);
  };
}

const IDLE_MS = 10_000;

export function createVersitygwIssuer(config: ConfigOf<'admin'>, counters: Leases): StorageIssuer {
  const exclusive = createPolicyLock(counters);
  const credentials = serviceCredentials(config);
  if (!credentials || config.s3Endpoint === '')
    throw new ProvisioningError(
      'not_configured',
      'HEADRACE_S3_ISSUER: versitygw needs HEADRACE_S3_ENDPOINT, HEADRACE_S3_ACCESS_KEY_ID and HEADRACE_S3_SECRET_ACCESS_KEY',
    );
  const server = {
    endpoint: config.s3Endpoint,
    region: config.s3Region,
    credentials,
  };
  const admin = createVersitygwAdmin(server);
  const storage = connectStorage({ ...server, idleMs: IDLE_MS });
  const Bucket = config.s3Bucket;

  async function readPolicy(): Promise<Policy> {
    try {
      const command = new GetBucketPolicyCommand({ Bucket });
      const answer = await storage.ask((s3, abort) => s3.send(command, abort));
      return JSON.parse(answer.Policy!) as Policy;
    } catch (error) {
      if ((error as Error).name === 'NoSuchBucketPolicy') return emptyPolicy();
      throw error;
    }
  }

  async function writePolicy(policy: Policy): Promise<void> {
    if (policy.Statement.length === 0) {
      const command = new DeleteBucketPolicyCommand({ Bucket });
      await storage.ask((s3, abort) => s3.send(command, abort));
      return;
    }
    const command = new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify(policy) });
    await storage
      .ask((s3, abort) => s3.send(command, abort))
      .catch((cause) => {
        const partners = policy.Statement.length / 2;
        throw new Error(
          `versitygw refused the bucket policy with ${partners} partners; it keeps the policy in a file attribute, ` +
            `which most file systems limit to 4 KB, unless it is started with --sidecar`,
          { cause },
        );
      });
  }

  const change = (partner: StoragePartner, statements: ReturnType<typeof partnerStatements>) =>
    exclusive(async () => writePolicy(withStatements(await readPolicy(), partner.storageUser, statements)));

  return {
    async issue(partner) {
      const secretAccessKey = randomBytes(30).toString('base64url');
      const credentials = { accessKeyId: partner.storageUser, secretAccessKey };
      await admin.createUser(credentials);
      await change(partner, partnerStatements(Bucket, partner, { named: true }));
      return credentials;
    },
    suspend: (partner) => change(partner, []),
    resume: (partner) => change(partner, partnerStatements(Bucket, partner, { named: true })),
    // The policy first: it must not name a user that does not exist.
    async revoke(partner) {
      await change(partner, []);
      await admin.deleteUser(partner.storageUser);
    },
  };
}
