/** The most common mistake: foreign keys sent as attribute ids, or the reverse. Looks at a few of the unknown keys. */
import type { FileFailure, JobDocument } from '../../schemas/job-documents.ts';
import type { RejectsDocument } from '../../schemas/stage-documents.ts';
import type { AttributeStore } from './attributes.ts';
import type { RejectStore } from './rejects.ts';

type KeyType = 0 | 1;

const MAX_KEYS = 20;
const hints: Record<KeyType, string> = {
  0: 'These are your foreign keys: use key_type 1 (--foreign-keys).',
  1: 'These are attribute ids: use key_type 0 (without --foreign-keys).',
};

/** The keys of a row with an unquoted or quoted identifier. */
function keysIn(raw: string): string[] {
  const [, delimiter, rest] = /^"?[0-9a-f-]{36}"? *([,;|\t])(.*)$/is.exec(raw.trimStart()) ?? [];
  if (delimiter === undefined) return [];
  return rest!.split(delimiter).map((key) =>
    key
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  );
}

/** Of a job that names keys. */
type KeyedJob = Pick<JobDocument, '_id' | 'partner' | 'keyType'>;
type Rejected = Pick<RejectsDocument['rows'][number], 'code' | 'raw'>;

const isUnknown = ({ code }: Rejected) => code === 'unknown_key';

export const withHint = (failure: FileFailure, hint: string | undefined): FileFailure =>
  hint === undefined ? failure : { ...failure, message: `${failure.message} ${hint}` };

export type KeyHints = ReturnType<typeof createKeyHints>;

export function createKeyHints({
  attributes,
  rejects,
}: {
  attributes: Pick<AttributeStore, 'resolve'>;
  rejects: Pick<RejectStore, 'ofJob'>;
}) {
  /** Undefined unless at least half of the keys that are unknown as they were sent are known as the other type. */
  async function ofKeys(
    partner: string,
    keyType: KeyType,
    keys: readonly string[],
  ): Promise<string | undefined> {
    const some = [...new Set(keys)].filter((key) => key !== '').slice(0, MAX_KEYS);
    const { unknown } = await attributes.resolve(partner, keyType, some);
    const wrong = unknown.map((index) => some[index]!);
    if (wrong.length === 0) return undefined;
    const other = await attributes.resolve(partner, keyType === 0 ? 1 : 0, wrong);
    return 2 * other.unknown.length <= wrong.length ? hints[keyType] : undefined;
  }

  const ofRows = ({ partner, keyType }: KeyedJob, rows: readonly Rejected[]) =>
    ofKeys(
      partner,
      keyType ?? 0,
      rows.filter(isUnknown).flatMap(({ raw }) => keysIn(raw)),
    );

  return {
    ofKeys,
    ofRows,

    /** From the first rows that were rejected for their keys. */
    async ofJob(job: KeyedJob): Promise<string | undefined> {
      for await (const { rows } of rejects.ofJob(job._id)) {
        const some = rows.filter(isUnknown).slice(0, MAX_KEYS);
        if (some.length > 0) return ofRows(job, some);
      }
      return undefined;
    },
  };
}
