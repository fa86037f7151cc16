/** `headrace admin partner quota|usage`: a partner's quotas and usage. */
import { type Command, InvalidArgumentError } from 'commander';
import { count } from '../../../api/client/format.ts';
import { quotasOf } from '../../../pipeline/accept/quotas.ts';
import type { PartnerQuotas } from '../../../schemas/partner-documents.ts';
import { between } from '../parse-options.ts';
import type { Columns } from '../show.ts';
import type { AddAdminCommand } from './runner.ts';
import { list } from './views.ts';

const factors = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 } as const;

/** `500GB`, `2M`, `1000`; null: as configured. */
function quantity(text: string): number | null {
  if (text === 'default') return null;
  if (text === 'none') return 0;
  const [, digits, unit] = /^(\d+(?:\.\d+)?) ?([kmgtp]?)b?$/i.exec(text) ?? [];
  const value = Math.round(Number(digits) * factors[unit?.toLowerCase() as keyof typeof factors]);
  if (!Number.isSafeInteger(value) || value === 0)
    throw new InvalidArgumentError('expected a number such as 1000, 2M or 500GB, none or default');
  return value;
}

/** Validates but keeps the text, which the audit log shows. */
function amount(text: string): string {
  quantity(text);
  return text;
}

function jobs(text: string): string {
  if (quantity(text) === 0) throw new InvalidArgumentError('expected 1 or more, or default');
  return text;
}

const shown = (value: number) => (value === 0 ? 'no limit' : count(value));
const quotaRecord = (quotas: Required<PartnerQuotas>) => ({
  pending_jobs: quotas.pendingJobs,
  bytes_per_day: quotas.bytesPerDay || null,
  rows_per_day: quotas.rowsPerDay || null,
});
const quotaLines = (quotas: Required<PartnerQuotas>, own: PartnerQuotas = {}) => {
  const line = (what: string, name: keyof PartnerQuotas) =>
    `${what}  ${shown(quotas[name])}${own[name] === undefined ? '   (default)' : ''}`;
  return [
    line('unfinished jobs', 'pendingJobs'),
    line('bytes per day  ', 'bytesPerDay'),
    line('rows per day   ', 'rowsPerDay'),
  ];
};

const usageColumns: Columns<{ day: string; jobs: number; bytes: number; rows: number }> = {
  'DAY (UTC)': ({ day }) => day,
  JOBS: ({ jobs }) => jobs,
  BYTES: ({ bytes }) => bytes,
  ROWS: ({ rows }) => rows,
};

type QuotaOptions = { partner: string } & { [Name in keyof PartnerQuotas]: string };

export function registerQuotaCommands(partner: Command, add: AddAdminCommand): void {
  add(partner, 'quota', 'set the quotas of a partner; they take effect within seconds')
    .requiredOption('--partner <id>', 'the partner')
    .option('--pending-jobs <number>', 'unfinished jobs, or default', jobs)
    .option(
      '--bytes-per-day <number>',
      'uncompressed bytes per day (UTC), such as 500GB, none or default',
      amount,
    )
    .option('--rows-per-day <number>', 'rows per day (UTC), such as 100M, none or default', amount)
    .changes(
      async ({ partners, config }, { partner: id, pendingJobs, bytesPerDay, rowsPerDay }: QuotaOptions) => {
        const given = Object.entries({ pendingJobs, bytesPerDay, rowsPerDay }).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, quantity(value)]],
        );
        const changed = await partners.setQuotas(id, Object.fromEntries(given));
        const quotas = quotasOf(changed, config);
        return {
          json: { partner_id: id, ...quotaRecord(quotas) },
          text: quotaLines(quotas, changed.quotas),
        };
      },
    );
  add(partner, 'usage', 'show the quotas of a partner and its daily usage')
    .requiredOption('--partner <id>', 'the partner')
    .option('--days <number>', 'number of days with usage to show', between(1, 9_999), 7)
    .reads(async ({ partners, usage, config }, options: { partner: string; days: number }) => {
      const found = await partners.find(options.partner);
      const quotas = quotasOf(found, config);
      const loaded = (await usage.list(options.partner, options.days)).map(({ job: _, ...rest }) => rest);
      return {
        json: { partner_id: options.partner, quotas: quotaRecord(quotas), days: loaded },
        text: [...quotaLines(quotas, found.quotas), '', ...list(loaded, usageColumns, 'nothing loaded yet')],
      };
    });
}
