/** Responses of the console's own routes, which the OpenAPI document does not have. */
import { z } from 'zod';
import { id, time } from './http-answers.ts';
import { keyScopes } from './partner-documents.ts';

/** Who is signed in to the console. */
export const consoleSession = z.strictObject({
  partner_id: z.string(),
  partner_name: z.string(),
  /** Of a session of a user token. */
  customer: z.string().nullable(),
  /** What it may do. */
  scopes: z.array(z.enum(keyScopes)),
  /** Of a session of a share link: the segment of the only report that it shows. */
  shared_segment_id: id.nullable(),
  /** null: authenticated by API key alone, without a session. */
  expires_at: time.nullable(),
});

/** Where the console uploads a file to. */
export const signedUpload = z.strictObject({
  /** Takes one PUT of exactly the announced size. */
  url: z.url(),
  /** Relative to the partner's prefix. */
  file_path: z.string(),
  expires_at: time,
});
