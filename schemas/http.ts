/** HTTP bodies. Requests are checked with these; the OpenAPI document is made from these and from the answers below. */
import { z } from 'zod';
import { ownPathPattern, ownPathProblem, sharedPathPattern, sharedPathProblem } from './paths.ts';
import { problemCodes } from './problems.ts';

export interface BodyLimits {
  pathBytes: number;
  keys: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const plainText = /^[^\u0000-\u001f\u007f]*$/;
const characters = (text: string) => [...text].length;
const wellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

/** The generator knows literals one at a time only. */
const zeroOrOne = { type: 'integer', enum: [0, 1] };
const pathTypes = '0: the provider’s shared bucket; 1: a bucket of the partner';
const keyType = z
  .literal([0, 1], 'must be 0 (attribute_id) or 1 (partner_foreign_key)')
  .meta({ description: '0: provider-assigned attribute_id; 1: partner_foreign_key', ...zeroOrOne });
const pathType = z
  .literal([0, 1], 'must be 0 (shared bucket) or 1 (your own bucket)')
  .meta({ description: pathTypes, ...zeroOrOne });

const visible = (most: number, what: string) =>
  z
    .string(`must be ${what}`)
    .min(1, `must be ${what}`)
    .max(most, `must be ${what}`)
    .regex(/^[\x21-\x7e]*$/, `must be ${what}`);

export const credentials = z
  .strictObject({
    accessKeyId: visible(128, 'an access key id'),
    secretAccessKey: visible(256, 'a secret access key').meta({ writeOnly: true }),
    region: z
      .string('must be a region such as eu-west-1')
      .max(32, 'must be a region such as eu-west-1')
      .regex(/^[a-z]{2}(-[a-z]+)+-[0-9]$/, 'must be a region such as eu-west-1'),
  })
  .meta({ description: 'Only, and always, with path_type 1. Encrypted at once, erased when the job ends.' });

/** What does not fit in one field's schema: these rules join several. JSON Schema can say them, so the document does. */
const importRules = {
  allOf: [
    {
      if: { properties: { path_type: { const: 1 } }, required: ['path_type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        required: ['credentials'],
        properties: { file_path: { type: 'string', pattern: ownPathPattern } },
      },
      else: {
        not: { required: ['credentials'] },
        properties: { file_path: { type: 'string', pattern: sharedPathPattern } },
      },
    },
    {
      if: { properties: { file_path: { type: 'string', pattern: '/$' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['compressed'] },
    },
  ],
};

export function createBodies(limits: BodyLimits) {
  const audiencePath = z
    .string('must be text')
    .superRefine((path, check) => {
      const message = sharedPathProblem(path, limits.pathBytes);
      if (message) check.addIssue({ code: 'custom', message });
    })
    .meta({
      description: 'A file, or a prefix of several, relative to the partner’s issued prefix.',
      minLength: 1,
      maxLength: limits.pathBytes,
      pattern: sharedPathPattern,
      example: 'acme/summer/',
    });

  const importRequest = z
    .strictObject({
      file_path: z.string('must be text').meta({
        description:
          'A file, or a prefix of several. path_type 0: relative to the partner’s issued prefix; 1: s3://<bucket>/<path>.',
        minLength: 1,
        maxLength: limits.pathBytes,
        example: 'day=2026-06-01/devices.csv',
      }),
      key_type: keyType,
      path_type: pathType.default(0).meta({ ...zeroOrOne, default: 0, description: pathTypes }),
      credentials: credentials.optional(),
      compressed: z
        .boolean('must be true or false')
        .optional()
        .meta({ description: 'Needed when file_path ends in /. Else a .gz extension decides.' }),
    })
    .superRefine((body, check) => {
      const issue = (path: string, message: string) =>
        check.addIssue({ code: 'custom', path: [path], message });
      const own = body.path_type === 1;
      const message = (own ? ownPathProblem : sharedPathProblem)(body.file_path, limits.pathBytes);
      if (message) issue('file_path', message);
      if (own && !body.credentials) issue('credentials', 'is required when path_type is 1');
      if (!own && body.credentials) issue('credentials', 'is only allowed when path_type is 1');
      if (body.file_path.endsWith('/') && body.compressed === undefined)
        issue('compressed', 'is required when file_path ends in a slash');
    })
    .meta({ id: 'ImportRequest', ...importRules });

  const deleteRequest = z
    .strictObject({
      key_type: keyType,
      keys: z
        .array(
          z
            .string('must be text')
            .min(1, 'must not be empty')
            .max(256, 'must not be longer than 256 characters')
            .regex(plainText, 'must not hold a control character')
            .refine(wellFormed, 'must be valid text'),
          'must be a list of keys',
        )
        .min(1, 'must name at least one key')
        .max(limits.keys, `must not name more than ${limits.keys} keys`)
        .meta({
          description: 'The attribute_ids or partner_foreign_keys whose data is deleted, for good.',
          example: ['17', '18'],
        }),
    })
    .meta({ id: 'DeleteRequest' });

  const audienceName = z
    .string('must be text')
    .regex(plainText, 'must not hold a control character')
    .refine(wellFormed, 'must be valid text')
    .refine((name) => characters(name) >= 1 && characters(name) <= 256, 'must have 1 to 256 characters')
    .meta({ minLength: 1, maxLength: 256, example: 'Summer visitors' });

  return {
    importRequest,
    deleteRequest,
    createAudience: z
      .strictObject({ name: audienceName, file_path: audiencePath })
      .meta({ id: 'CreateAudience' }),
    appendFiles: z.strictObject({ file_path: audiencePath }).meta({ id: 'AppendFiles' }),
    /** A clear takes no fields; an empty object is as good as no body. */
    nothing: z.strictObject({}).meta({ id: 'Nothing' }),
  };
}
export type Bodies = ReturnType<typeof createBodies>;
export type ImportRequest = z.output<Bodies['importRequest']>;
export type DeleteRequest = z.output<Bodies['deleteRequest']>;
export type CreateAudience = z.output<Bodies['createAudience']>;
export type AppendFiles = z.output<Bodies['appendFiles']>;

// Answers. They are written by plain JSON.stringify; these say what they look like, and tests check them against it.
const id = z.int().positive();
const count = z.int().nonnegative();
const countText = z.string().regex(/^\d+$/).meta({ description: 'A number, as text.', example: '1200' });
const time = z.iso.datetime().meta({ example: '2026-06-01T08:30:00.000Z' });
const status = z
  .literal([0, 1, 2, 3])
  .meta({ description: '0 pending, 1 running, 2 done, 3 error', type: 'integer', enum: [0, 1, 2, 3] });

export const importLogError = z
  .strictObject({
    code: z.string(),
    message: z.string(),
    file: z.string().optional(),
    line: z.int().optional(),
    count: z.int().optional(),
  })
  .meta({ id: 'ImportLogError' });

export const importLog = z
  .strictObject({
    import_log_id: id,
    file_path: z.string(),
    path_type: z.literal([0, 1]).meta(zeroOrOne),
    key_type: z.literal([0, 1]).meta(zeroOrOne),
    status,
    log_type: z.literal([0, 1]).meta({ ...zeroOrOne, description: '0 import, 1 deletion' }),
    keys: z.array(z.string()).nullable(),
    unique_devices: countText,
    total_rows: countText,
    errors: z.array(importLogError).nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'ImportLog' });

export const importLogId = z.strictObject({ import_log_id: id }).meta({ id: 'ImportLogId' });

const audienceFields = {
  audience_id: id,
  name: z.string(),
  unique_devices: count,
  default_warehouse_segment_id: id,
  status,
  created_at: time,
  updated_at: time,
  uploaded_devices: count,
  matched_devices: count,
};
export const audience = z.strictObject(audienceFields).meta({ id: 'Audience' });

export const fileEntry = z
  .strictObject({ s3_path: z.string(), status, rows_uploaded: count, updated_at: time })
  .meta({ id: 'FileEntry' });
export const audienceDetails = z
  .strictObject({ ...audienceFields, file: z.array(fileEntry) })
  .meta({ id: 'AudienceDetails' });
export const audienceIds = z
  .strictObject({ audience_id: id, default_warehouse_segment_id: id })
  .meta({ id: 'AudienceIds' });

export const fileReport = z
  .strictObject({
    ...fileEntry.shape,
    rows: count.meta({ description: 'Data rows read.' }),
    rows_accepted: count,
    rows_duplicate: count
      .nullable()
      .meta({ description: 'Accepted rows that added nothing; null until known.' }),
    rows_rejected: z.record(z.string(), count).meta({ description: 'Rejected rows by reason.' }),
    failure: importLogError.omit({ file: true }).nullable(),
  })
  .meta({ id: 'FileReport' });

export const rejectedRow = z
  .strictObject({ file: z.string(), line: z.int().positive(), code: z.string(), raw: z.string() })
  .meta({ id: 'RejectedRow', description: 'One line of the NDJSON answer; raw is cut at 200 bytes.' });

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(problemCodes),
    instance: z.string().optional().meta({ description: 'The request id.' }),
    errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457' });
