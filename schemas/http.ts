/** HTTP request bodies. Requests are validated with these schemas, and the OpenAPI document is generated from them. */
import { z } from 'zod';
import {
  notPlainText,
  ownPathPattern,
  ownPathProblem,
  plainText,
  sharedPathPattern,
  sharedPathProblem,
} from './paths.ts';
import { privacyBody } from './privacy-body.ts';

interface BodyLimits {
  pathBytes: number;
  keys: number;
}

const characters = (text: string) => [...text].length;
const wellFormed = (text: string) => !/\p{Surrogate}/u.test(text);

/** S3's limit for a single PUT. */
const MAX_UPLOAD_BYTES = 5 * 1024 ** 3;

const KEY_BYTES = 256;
/** JSON may escape a two-byte character with six bytes, the worst ratio of all. */
const ESCAPED = 3;

/** Maximum body size of a deletion: the maximum number of keys of maximum length, quoted and separated. */
export const deletionBytes = ({ limitKeys, limitBodyBytes }: { limitKeys: number; limitBodyBytes: number }) =>
  limitBodyBytes + limitKeys * (KEY_BYTES * ESCAPED + 4);

/** The OpenAPI generator does not support a literal of several values. */
export const zeroOrOne = { type: 'integer', enum: [0, 1] };
export const pathTypes = '0: the shared bucket of the service; 1: your own bucket, with `credentials`.';
export const keyTypes =
  '0: attribute_id, assigned by the service; 1: partner_foreign_key, your own key for an attribute, associated in advance.';
const keyType = z
  .literal([0, 1], 'must be 0 (attribute_id) or 1 (partner_foreign_key)')
  .meta({ description: keyTypes, ...zeroOrOne });
const pathType = z
  .literal([0, 1], 'must be 0 (shared bucket) or 1 (your own bucket)')
  .meta({ description: pathTypes, ...zeroOrOne });

const visible = (max: number, what: string) =>
  z
    .string(`must be ${what}`)
    .min(1, `must be ${what}`)
    .max(max, `must be ${what}`)
    .regex(/^[\x21-\x7e]*$/, `must be ${what}`);

export const credentials = z
  .strictObject({
    accessKeyId: visible(128, 'an access key id').meta({ example: 'AKIAIOSFODNN7EXAMPLE' }),
    secretAccessKey: visible(256, 'a secret access key').meta({
      writeOnly: true,
      example: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    }),
    region: z
      .string('must be a region such as eu-west-1')
      .max(32, 'must be a region such as eu-west-1')
      .regex(/^[a-z]{2}(-[a-z]+)+-[0-9]$/, 'must be a region such as eu-west-1')
      .meta({ description: 'The region of your bucket.', example: 'eu-west-1' }),
  })
  .meta({
    description:
      'For your own bucket: required with path_type 1, not allowed with path_type 0. Stored encrypted, never returned, erased when the job ends.',
  });

export const visibility = z.enum(['public', 'private'], 'must be public or private').meta({
  description:
    '`public`: the name, the owner and the share of the attribute may appear in the reports of every partner and customer. `private`: only in those of its owner.',
  example: 'public',
});

const attributeName = z
  .string('must be a string')
  .regex(plainText, notPlainText)
  .refine(wellFormed, 'must be valid Unicode')
  .refine((name) => name.trim() !== '' && name.length <= 256, 'must have 1 to 256 characters')
  .meta({ description: 'Its display name.', minLength: 1, maxLength: 256, example: 'Sports fans' });

export const changeAttribute = z
  .strictObject({ visibility: visibility.optional(), name: attributeName.optional() })
  .refine((body) => Object.keys(body).length > 0, 'must have name, visibility or both')
  .meta({ id: 'ChangeAttribute', minProperties: 1 });

const DAY_SECONDS = 86_400;
const MAX_SHARED_DAYS = 30;
const lifetime = `must be a number of seconds from 60 to ${MAX_SHARED_DAYS * DAY_SECONDS}`;
export const shareReport = z
  .strictObject({
    expires_in: z
      .int(lifetime)
      .min(60, lifetime)
      .max(MAX_SHARED_DAYS * DAY_SECONDS, lifetime)
      .default(7 * DAY_SECONDS)
      .meta({
        description: `Seconds until the link expires, at most ${MAX_SHARED_DAYS} days. 7 days unless given.`,
      }),
  })
  .meta({ id: 'ShareReport' });

/** Rules that involve several fields, in JSON Schema for the OpenAPI document. */
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
    .string('must be a string')
    .superRefine((path, check) => {
      const message = sharedPathProblem(path, limits.pathBytes);
      if (message) check.addIssue({ code: 'custom', message });
    })
    .meta({
      description: `A file, or a prefix such as \`acme/summer/\`, which loads every file whose path begins with it. Relative to your issued prefix: omit bucket and prefix. At most ${limits.pathBytes} bytes; no \`.\` or \`..\` segment, no leading \`/\`, no control characters. Files that end in \`.gz\` are decompressed.`,
      minLength: 1,
      maxLength: limits.pathBytes,
      pattern: sharedPathPattern,
      example: 'acme/summer/',
    });

  const importRequest = z
    .strictObject({
      file_path: z.string('must be a string').meta({
        description: `A file, or a prefix, which loads every file whose path begins with it. With path_type 0, relative to your issued prefix: omit bucket and prefix. With path_type 1, the full URL: \`s3://<bucket>/<path>\`. At most ${limits.pathBytes} bytes; no \`.\` or \`..\` segment, no leading \`/\`, no control characters.`,
        minLength: 1,
        maxLength: limits.pathBytes,
        example: 'day=2026-06-01/devices.csv',
      }),
      key_type: keyType,
      path_type: pathType.default(0).meta({ ...zeroOrOne, default: 0, description: pathTypes }),
      credentials: credentials.optional(),
      compressed: z
        .union([z.boolean(), z.literal('auto')], 'must be true, false or "auto"')
        .optional()
        .meta({
          description:
            'Whether the files are gzip-compressed; `auto`: those that end in `.gz`. Required for a prefix: without it, a file_path that ends in `/` is refused with 422, and any other path that turns out to be a prefix fails the job with `compressed_required`. For a single file the default is `auto`.',
          example: 'auto',
        }),
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
        issue('compressed', 'is required when file_path ends in a slash: true, false or "auto"');
    })
    .meta({ id: 'ImportRequest', ...importRules });

  const deleteRequest = z
    .strictObject({
      key_type: keyType,
      keys: z
        .array(
          z
            .string('must be a string')
            .min(1, 'must not be empty')
            .refine(
              (key) => new TextEncoder().encode(key).length <= KEY_BYTES,
              `must not be longer than ${KEY_BYTES} bytes`,
            )
            .regex(plainText, notPlainText)
            .refine(wellFormed, 'must be valid Unicode')
            .meta({ maxLength: KEY_BYTES }),
          'must be an array of keys',
        )
        .min(1, 'must contain at least one key')
        .max(limits.keys, `must not contain more than ${limits.keys} keys`)
        .meta({
          description:
            'The attribute_ids (as strings) or partner_foreign_keys whose data is deleted permanently, each of at most 256 bytes. If any of them is not yours, the response is 422 `unknown_keys`, which lists those keys, and nothing is deleted.',
          example: ['17', '18'],
        }),
    })
    .meta({ id: 'DeleteRequest' });

  const audienceName = z
    .string('must be a string')
    .regex(plainText, notPlainText)
    .refine(wellFormed, 'must be valid Unicode')
    .refine((name) => characters(name) >= 1 && characters(name) <= 256, 'must have 1 to 256 characters')
    .meta({
      description: '1 to 256 characters. Does not have to be unique.',
      minLength: 1,
      maxLength: 256,
      example: 'Summer visitors',
    });

  return {
    importRequest,
    deleteRequest,
    privacyRequest: privacyBody(audiencePath),
    createAudience: z
      .strictObject({ name: audienceName, file_path: audiencePath })
      .meta({ id: 'CreateAudience' }),
    changeAudience: z
      .strictObject({ file_path: audiencePath.optional(), name: audienceName.optional() })
      .superRefine(({ file_path, name }, check) => {
        const issue = (path: string, message: string) =>
          check.addIssue({ code: 'custom', path: [path], message });
        if (file_path === undefined && name === undefined)
          issue('file_path', 'is required, or name to rename the audience');
        if (file_path !== undefined && name !== undefined)
          issue('name', 'must be sent alone: append the files in another request');
      })
      .meta({ id: 'ChangeAudience', oneOf: [{ required: ['file_path'] }, { required: ['name'] }] }),
    /** Signs in to the console with exactly one of the two. */
    signIn: z
      .strictObject({
        api_key: z.string('must be a string').optional(),
        user_token: z.string('must be a string').optional(),
      })
      .refine(
        ({ api_key, user_token }) => (api_key === undefined) !== (user_token === undefined),
        'must have either api_key or user_token',
      ),
    /** An upload by the console: file name without folders, and size. */
    upload: z.strictObject({
      name: z.string('must be a string').superRefine((name, check) => {
        const message = name.includes('/') ? 'must not contain a slash' : sharedPathProblem(name, 255);
        if (message) check.addIssue({ code: 'custom', message });
      }),
      size: z
        .int('must be a number of bytes')
        .min(1, 'must not be 0: the file is empty')
        .max(MAX_UPLOAD_BYTES, 'must be at most 5 GiB: upload larger files with the command line'),
    }),
    /** A clear has no fields: the body is empty or an empty object. */
    nothing: z.strictObject({}).meta({ id: 'Nothing' }),
  };
}
export type Bodies = ReturnType<typeof createBodies>;
