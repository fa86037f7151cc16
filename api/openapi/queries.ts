/** Query parameters of lists. */
import { z } from 'zod';
import { deliveryStatuses } from '../../schemas/webhook-documents.ts';

const page = {
  limit: z.int().min(1).max(1_000).optional().meta({ description: 'The maximum number of entries.' }),
  cursor: z
    .string()
    .regex(/^[1-9][0-9]{0,14}$/)
    .optional()
    .meta({ description: 'The cursor from the `Link` header of the previous page.' }),
};
const status = z.int().min(0).max(3).optional().meta({ description: 'Only entries that have this status.' });
const search = (what: string) =>
  z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: `Only entries with this text in their ${what}, in upper or lower case.` });

export const pageQuery = z.object(page);
export const importQuery = z.object({ ...page, status, search: search('`file_path`') });
export const audienceQuery = z.object({
  ...page,
  status,
  search: search('name'),
  segment_id: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Only the audience with this `default_warehouse_segment_id`.' }),
});

export const deliveryQuery = z.object({
  ...page,
  status: z.enum(deliveryStatuses).optional().meta({ description: 'Only deliveries that have this status.' }),
});

export const dryRunQuery = z.object({
  dry_run: z.enum(['true', 'false']).optional().meta({
    description:
      '`true`: reads the files as a load would and changes nothing. The response is `{dry_run_id}`, and `Location` says what would be loaded and rejected. No job is queued, and an `Idempotency-Key` is ignored.',
  }),
});

export const rejectsLink = {
  Link: {
    description: 'The URL of the rejected rows, `rel="rejects"`, if there are any',
    schema: { type: 'string' as const },
  },
};
export const link = {
  Link: {
    description: 'The URL of the next page, `rel="next"`; absent on the last page',
    schema: { type: 'string' as const },
  },
};
