/** A partner's quotas: its own, or else the configured defaults. */
import type { Config } from '../../schemas/config.ts';
import type { PartnerDocument, PartnerQuotas } from '../../schemas/partner-documents.ts';

export type DefaultQuotas = Pick<Config, 'maxPendingJobs' | 'maxBytesPerDay' | 'maxRowsPerDay'>;

/** A daily quota of 0 means no limit. */
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
