/** Responses about the caller: its account, and its quotas and usage. */
import { z } from 'zod';
import { count, described, time } from './http-answers.ts';
import { keyScopes } from './partner-documents.ts';

export const account = z
  .strictObject({
    partner_id: described(z.string(), 'The partner.', 'p-tt6hkz9rv7bs'),
    name: described(z.string(), 'Its display name.', 'Acme'),
    customer: described(z.string().nullable(), 'The customer of the user token; null without one.', null),
    prefix: described(
      z.string().nullable(),
      'The prefix of its files in the shared storage; null for a customer.',
      'p-tt6hkz9rv7bs/',
    ),
    key: described(
      z
        .strictObject({
          key: described(z.string(), 'The part of the key that is no secret.', 'hr_ab12cd34'),
          label: z.string().nullable(),
          scopes: z.array(z.enum(keyScopes)),
          expires_at: described(time.nullable(), 'null: never.', null),
        })
        .nullable(),
      'The API key; null for a session of a user token.',
    ),
  })
  .meta({ id: 'Account' });

const limit = (what: string, example: number) =>
  described(count.nullable(), `${what}; null: no limit.`, example);

export const usage = z
  .strictObject({
    pending_jobs: described(count, 'Your unfinished jobs.', 2),
    quotas: z.strictObject({
      pending_jobs: described(count, 'The maximum number of unfinished jobs.', 10_000),
      bytes_per_day: limit('Uncompressed bytes per day (UTC)', 500_000_000_000),
      rows_per_day: limit('Rows per day (UTC)', 100_000_000),
    }),
    days: z.array(
      z.strictObject({
        day: described(z.iso.date(), 'The day, in UTC.', '2026-06-01'),
        jobs: described(count, 'Jobs that have ended.', 12),
        bytes: described(count, 'Uncompressed bytes read.', 1_250_000_000),
        rows: described(count, 'Rows read.', 20_000_000),
      }),
    ),
  })
  .meta({ id: 'Usage' });
