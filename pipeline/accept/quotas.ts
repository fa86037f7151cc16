/** What a partner may use: its own quotas, or the configured ones. */
import type { Config } from '../../schemas/config.ts';
import type { PartnerDocument, PartnerQuotas } from '../../schemas/partner-documents.ts';

export type DefaultQuotas = Pick<Config, 'maxPendingJobs' | 'maxBytesPerDay' | 'maxRowsPerDay'>;

/** 0 of a day: no limit. */
export const quotasOf = (
  partner: Pick<PartnerDocument, 'quotas'> | null,
  { maxPendingJobs, maxBytesPerDay, maxRowsPerDay }: DefaultQuotas,
): Required<PartnerQuotas> => ({
  pendingJobs: maxPendingJobs,
  bytesPerDay: maxBytesPerDay,
  rowsPerDay: maxRowsPerDay,
  ...partner?.quotas,
});

export const hasDailyQuota = ({ bytesPerDay, rowsPerDay }: PartnerQuotas): boolean =>
  bytesPerDay !== 0 || rowsPerDay !== 0;
