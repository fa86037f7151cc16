/** A partner's permissions in the shared bucket: full access to the objects under its prefix, none to others. */
import type { Config } from '../../schemas/config.ts';

export interface Statement {
  Sid: string;
  Effect: 'Allow' | 'Deny';
  Principal?: { AWS: string[] };
  Action: string[];
  Resource: string | string[];
  Condition?: Record<string, Record<string, string[]>>;
}

export interface Policy {
  Version: '2012-10-17';
  Statement: Statement[];
}

const objectActions = [
  's3:GetObject',
  's3:PutObject',
  's3:DeleteObject',
  's3:AbortMultipartUpload',
  's3:ListMultipartUploadParts',
];

/** Statement ids may have letters and digits only. */
const sidOf = (user: string, what: 'Objects' | 'List') => `${what}${user.replace(/[^A-Za-z0-9]/g, '')}`;

export function partnerStatements(
  bucket: string,
  { prefix, storageUser }: { prefix: string; storageUser: string },
  { named, partition = 'aws' }: { named: boolean; partition?: string },
): Statement[] {
  if (!/^[^*?$/]+\/$/.test(prefix)) throw new Error(`access cannot be limited to the prefix ${prefix}`);
  const arn = `arn:${partition}:s3:::${bucket}`;
  const principal = named ? { Principal: { AWS: [storageUser] } } : {};
  return [
    {
      Sid: sidOf(storageUser, 'Objects'),
      Effect: 'Allow',
      ...principal,
      Action: objectActions,
      Resource: `${arn}/${prefix}*`,
    },
    {
      Sid: sidOf(storageUser, 'List'),
      Effect: 'Allow',
      ...principal,
      Action: ['s3:ListBucket'],
      Resource: arn,
      Condition: { StringLike: { 's3:prefix': [`${prefix}*`] } },
    },
  ];
}

/** AWS partitions, which have their own ARN prefixes. */
const partitions = [
  [/^cn-/, 'aws-cn'],
  [/^us-gov-/, 'aws-us-gov'],
  [/^us-iso-/, 'aws-iso'],
  [/^us-isob-/, 'aws-iso-b'],
  [/^eusc-/, 'aws-eusc'],
] as const;
export const partitionOf = (region: string): string =>
  partitions.find(([pattern]) => pattern.test(region))?.[1] ?? 'aws';

/** Policy for a partner's user: its prefix, TLS only, no customer-provided encryption keys. */
export function partnerPolicy(
  { s3Bucket, s3Region, s3Endpoint }: Pick<Config, 's3Bucket' | 's3Region' | 's3Endpoint'>,
  partner: { prefix: string; storageUser: string },
): Policy {
  const partition = partitionOf(s3Region);
  const arn = `arn:${partition}:s3:::${s3Bucket}`;
  const onlyWithTls: Statement = {
    Sid: 'OnlyWithTls',
    Effect: 'Deny',
    Action: ['s3:*'],
    Resource: [arn, `${arn}/*`],
    Condition: { Bool: { 'aws:SecureTransport': ['false'] } },
  };
  const noKeysOfHisOwn: Statement = {
    Sid: 'NoCustomerKeys',
    Effect: 'Deny',
    Action: ['s3:PutObject'],
    Resource: `${arn}/*`,
    Condition: { Null: { 's3:x-amz-server-side-encryption-customer-algorithm': ['false'] } },
  };
  return {
    Version: '2012-10-17',
    Statement: [
      ...partnerStatements(s3Bucket, partner, { named: false, partition }),
      ...(s3Endpoint.startsWith('http://') ? [] : [onlyWithTls]),
      noKeysOfHisOwn,
    ],
  };
}

export const emptyPolicy = (): Policy => ({ Version: '2012-10-17', Statement: [] });

/** The policy with this user's statements replaced by the given ones. */
export function withStatements(policy: Policy, user: string, statements: Statement[]): Policy {
  const own = new Set([sidOf(user, 'Objects'), sidOf(user, 'List')]);
  return { ...policy, Statement: [...policy.Statement.filter(({ Sid }) => !own.has(Sid)), ...statements] };
}
