/** Signed receipt of a privacy request: what was removed, where and when, and what remains until when. Contains no identifiers. */
import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Config } from '../../../../schemas/config.ts';
import { EVERYONE, type JobDocument } from '../../../../schemas/job-documents.ts';
import { DIGEST_BYTES, digestsOf } from '../../../formats/device-digest.ts';
import { secretsOf } from '../../../runtime/seal.ts';
import { SIGNING_ALGORITHM } from '../../../stores/signing-keys.ts';
import type { Stores } from '../../../stores/stores.ts';

export interface Removed {
  found: number;
  /** Devices by attribute. */
  attributes: ReadonlyMap<number, number>;
  audiences: Iterable<{ audience: number; devices: number }>;
}

export const receiptSettings = [
  'secret',
  'secretOld',
  'publicUrl',
  'retentionHours',
  'retentionDaysEvidence',
  'retentionDaysBackups',
] as const satisfies (keyof Config)[];

type Dependencies = Pick<Stores, 'receipts' | 'signingKeys' | 'identifierLists'> &
  Pick<Config, (typeof receiptSettings)[number]>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RECEIPT_TYPE = 'privacy-receipt+jwt';
/** More identifiers are represented by a single digest. */
const NAMED_DIGESTS = 100;
const NOT_COVERED = ['files in storage', 'copies made from reports, exports and events'];

export function createIssueReceipt(deps: Dependencies) {
  const { receipts, signingKeys, identifierLists } = deps;
  const secrets = secretsOf(deps);

  /** Identifiers in the request: their digests, and one digest over all of them in order. */
  async function subjectsOf({ identifiers, filePath }: JobDocument) {
    if (identifiers === undefined) return { file_path: filePath };
    const digests = new Set<string>();
    for await (const lines of identifierLists.read(identifiers, secrets)) {
      const devices = Buffer.from(lines.toString('latin1').replaceAll(/[-\n]/g, ''), 'hex');
      const packed = Buffer.from(digestsOf(devices));
      for (let at = 0; at < packed.length; at += DIGEST_BYTES)
        digests.add(packed.toString('base64', at, at + DIGEST_BYTES));
    }
    const sorted = [...digests].sort();
    return {
      sha256_of_digests: createHash('sha256').update(sorted.join('\n')).digest('base64'),
      ...(sorted.length <= NAMED_DIGESTS ? { digests: sorted } : {}),
    };
  }

  function remains(completedAt: Date) {
    const { retentionHours, retentionDaysBackups } = deps;
    const until = (ms: number) => new Date(completedAt.getTime() + ms).toISOString();
    return [
      { where: 'messages in Kafka topics', until: until(retentionHours * HOUR_MS) },
      {
        where: 'backups of the database',
        until: retentionDaysBackups === undefined ? null : until(retentionDaysBackups * DAY_MS),
      },
    ];
  }

  return async (job: JobDocument, removed: Removed): Promise<void> => {
    if (await receipts.find(job._id)) return;
    const completedAt = new Date();
    // Cancelled, or with a list that could not be read, it has done nothing; dropped, a part of it.
    const isDeletion = job.privacy === 'delete' && job.verdict!.passed.length > 0;
    const isWhole = isDeletion && !job.dropRequested;
    const { id, key } = await signingKeys.current(secrets);
    const jws = await new SignJWT({
      request: {
        request_id: job._id,
        type: job.privacy,
        partner: job.partner === EVERYONE ? null : job.partner,
        source: job.source ?? null,
        reason: job.reason ?? null,
        accepted_at: job.createdAt.toISOString(),
        completed_at: completedAt.toISOString(),
        status: job.errors ? 'failed' : 'done',
      },
      subjects: { identifiers: job.accepted ?? 0, ...(await subjectsOf(job)) },
      found: removed.found,
      removed: isDeletion
        ? {
            attributes: [...removed.attributes].map(([attribute_id, devices]) => ({
              attribute_id,
              devices,
            })),
            audiences: [...removed.audiences].map(({ audience: audience_id, devices }) => ({
              audience_id,
              devices,
            })),
            rejected_rows: isWhole,
          }
        : null,
      suppressed_since: isWhole ? completedAt.toISOString() : null,
      remains: isDeletion ? remains(completedAt) : null,
      not_covered: NOT_COVERED,
    })
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid: id, typ: RECEIPT_TYPE })
      .setIssuer(deps.publicUrl ?? 'headrace')
      .setJti(String(job._id))
      .setIssuedAt(completedAt)
      .sign(key);
    await receipts.store({
      _id: job._id,
      partner: job.partner,
      jws,
      createdAt: completedAt,
      expiresAt: new Date(completedAt.getTime() + deps.retentionDaysEvidence * DAY_MS),
    });
  };
}
export type IssueReceipt = ReturnType<typeof createIssueReceipt>;
