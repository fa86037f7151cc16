/** A partner's permissions in the shared bucket: full access to the objects under its prefix, none to others. */

export interface Statement {
  Sid: string;
  Effect: 'Allow';
  Principal?: { AWS: string[] };
  Action: string[];
  Resource: string;
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
export const sidOf = (user: string, what: 'Objects' | 'List') =>
  `${what}${user.replace(/[^A-Za-z0-9]/g, '')}`;

export function partnerStatements(
  bucket: string,
  { prefix, storageUser }: { prefix: string; storageUser: string },
  { named }: { named: boolean },
): Statement[] {
  if (!/^[^*?$/]+\/$/.test(prefix)) throw new Error(`access cannot be limited to the prefix ${prefix}`);
  const principal = named ? { Principal: { AWS: [storageUser] } } : {};
  return [
    {
      Sid: sidOf(storageUser, 'Objects'),
      Effect: 'Allow',
      ...principal,
      Action: objectActions,
      Resource: `arn:aws:s3:::${bucket}/${prefix}*`,
    },
    {
      Sid: sidOf(storageUser, 'List'),
      Effect: 'Allow',
      ...principal,
      Action: ['s3:ListBucket'],
      Resource: `arn:aws:s3:::${bucket}`,
      Condition: { StringLike: { 's3:prefix': [`${prefix}*`] } },
    },
  ];
}

export const emptyPolicy = (): Policy => ({ Version: '2012-10-17', Statement: [] });

/** The policy with this user's statements replaced by the given ones. */
export function withStatements(policy: Policy, user: string, statements: Statement[]): Policy {
  const own = new Set([sidOf(user, 'Objects'), sidOf(user, 'List')]);
  return { ...policy, Statement: [...policy.Statement.filter(({ Sid }) => !own.has(Sid)), ...statements] };
}
