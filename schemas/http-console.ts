/** Responses of the console's own routes, which are not in the OpenAPI document. */
import { z } from 'zod';
import { id, time } from './http-answers.ts';
import { keyScopes } from './partner-documents.ts';

/** The session of the console. */
export const consoleSession = z.strictObject({
  partner_id: z.string(),
  partner_name: z.string(),
  /** Set in a session of a user token. */
  customer: z.string().nullable(),
  scopes: z.array(z.enum(keyScopes)),
  /** Set in a session of a share link: the segment of the only report it shows. */
  shared_segment_id: id.nullable(),
  /** null: authenticated by API key alone, without a session. */
  expires_at: time.nullable(),
});

/** Target of an upload by the console. */
export const signedUpload = z.strictObject({
  /** Takes one PUT of exactly the announced size. */
  url: z.url(),
  /** Relative to the partner's prefix. */
  file_path: z.string(),
  expires_at: time,
});
