/** The body of a privacy request. */
import { z } from 'zod';
import { identifierPattern, identifierText, MAX_IDENTIFIERS } from './identifier-text.ts';
import { privacyTypes } from './job-documents.ts';

const notIdentifier =
  'must be an advertising identifier: 32 hex digits, with hyphens or without, not all zeros';

const identifier = z
  .string(notIdentifier)
  .transform((text, check) => {
    const canonical = identifierText(text);
    if (canonical !== undefined) return canonical;
    check.addIssue({ code: 'custom', message: notIdentifier });
    return z.NEVER;
  })
  .meta({
    type: 'string',
    pattern: identifierPattern.source,
    example: '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11',
  });

export const privacyBody = (filePath: z.ZodType<string>) =>
  z
    .strictObject({
      type: z.enum(privacyTypes, `must be ${privacyTypes.join(', ')}`).meta({
        description:
          '`delete`: remove all of your data about the devices, and keep them out. `access`: return it. `restore`: let the devices in again; what was deleted does not come back.',
        example: 'delete',
      }),
      identifiers: z
        .array(identifier, 'must be an array of identifiers')
        .min(1, 'must contain at least one identifier')
        .max(MAX_IDENTIFIERS, `must not contain more than ${MAX_IDENTIFIERS} identifiers: send a file`)
        .optional(),
      file_path: filePath.optional(),
    })
    .superRefine(({ identifiers, file_path }, check) => {
      const message = 'is required, or file_path, and not both';
      if ((identifiers === undefined) === (file_path === undefined))
        check.addIssue({ code: 'custom', path: ['identifiers'], message });
    })
    .meta({ id: 'PrivacyRequestBody', oneOf: [{ required: ['identifiers'] }, { required: ['file_path'] }] });
