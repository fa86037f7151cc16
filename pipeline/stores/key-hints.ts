/** Detects the most common mistake, foreign keys sent as attribute ids or vice versa, from a few unknown keys. */
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

/** The keys of a row, whose identifier may be quoted. */
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
  /** Undefined unless at least half of the unknown keys are known as the other type. */
  async function ofKeys(
    partner: string,
    keyType: KeyType,
    keys: readonly string[],
  ): Promise<string | undefined> {
    const sample = [...new Set(keys)].filter((key) => key !== '').slice(0, MAX_KEYS);
    const { unknown } = await attributes.resolve(partner, keyType, sample);
    const wrong = unknown.map((index) => sample[index]!);
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

    /** Uses the first rows rejected for unknown keys. */
    async ofJob(job: KeyedJob): Promise<string | undefined> {
      for await (const { rows } of rejects.ofJob(job._id)) {
        const sample = rows.filter(isUnknown).slice(0, MAX_KEYS);
        if (sample.length > 0) return ofRows(job, sample);
      }
      return undefined;
    },
  };
}
