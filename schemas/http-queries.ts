/** Query parameters. Requests are validated with these schemas, and the OpenAPI document is generated from them. */
import { z } from 'zod';
import type { JobStatus } from './job-documents.ts';
import { deliveryStatuses } from './webhook-documents.ts';

const MAX_LISTED = 1_000;
const MAX_SEARCHED = 256;

const wholeNumber = (max: number, message: string) =>
  z
    .string(message)
    .regex(/^[1-9][0-9]{0,15}$/, message)
    .transform(Number)
    .refine((number) => number <= max, message);
/** The parameter is validated as text, but documented as an integer. */
const integer = (minimum: number, maximum: number, description: string) => ({
  type: 'integer' as const,
  minimum,
  maximum,
  description,
});

const searched = `must be a text of 1 to ${MAX_SEARCHED} characters, without control characters`;
const search = (what: string) =>
  z
    .string(searched)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, searched)
    .refine((text) => text !== '' && [...text].length <= MAX_SEARCHED, searched)
    .optional()
    .meta({
      description: `Only entries with this text in their ${what}, in upper or lower case.`,
      minLength: 1,
      maxLength: MAX_SEARCHED,
    });
const status = z
  .string('must be 0, 1, 2 or 3')
  .regex(/^[0-3]$/, 'must be 0, 1, 2 or 3')
  .transform((text) => Number(text) as JobStatus)
  .optional()
  .meta(integer(0, 3, 'Only entries that have this status.'));

const page = {
  limit: wholeNumber(MAX_LISTED, `must be a number from 1 to ${MAX_LISTED}`)
    .optional()
    .meta(integer(1, MAX_LISTED, 'The maximum number of entries.')),
  cursor: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be a cursor from a Link header')
    .optional()
    .meta({ description: 'The cursor from the `Link` header of the previous page.' }),
};

export const pageQuery = z.object(page);
export const importQuery = z.object({ ...page, status, search: search('`file_path`') });
export const audienceQuery = z.object({
  ...page,
  status,
  search: search('name'),
  segment_id: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be a default_warehouse_segment_id')
    .optional()
    .meta(integer(1, Number.MAX_SAFE_INTEGER, 'Only the audience with this `default_warehouse_segment_id`.')),
});

const MAX_DAYS = 366;
export const usageQuery = z.object({
  days: wholeNumber(MAX_DAYS, `must be a number from 1 to ${MAX_DAYS}`)
    .optional()
    .meta(integer(1, MAX_DAYS, 'The maximum number of days. The default is 7.')),
});

export const deliveryQuery = z.object({
  ...page,
  status: z
    .enum(deliveryStatuses, `must be ${deliveryStatuses.join(', ')}`)
    .optional()
    .meta({ description: 'Only deliveries that have this status.' }),
});

/** `false` is accepted, too, for scripts that always send the parameter. */
export const dryRunQuery = z.object({
  dry_run: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional()
    .meta({
      type: 'boolean',
      description:
        '`true`: reads the files as a load would and changes nothing. The response is `{dry_run_id}`, and `Location` shows what would be loaded and rejected. No job is queued; the load that follows is another request and needs another `Idempotency-Key`.',
    }),
});

export const compositionQuery = z.object({
  format: z.enum(['json', 'csv'], 'must be json or csv').optional().meta({
    description:
      '`csv` for one table of all sections, as a file. The default follows `Accept`: JSON, unless `text/csv` is preferred.',
  }),
  previous: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: '`true`: while a report is computed, the response includes the previous one.',
  }),
  attributes: z.enum(['all', 'own'], 'must be all or own').optional().meta({
    description: '`own`: only your own attributes. The default is `all`: those of every partner.',
  }),
});
