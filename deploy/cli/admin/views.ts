/** Output of the admin commands: records for `--json`, lines otherwise. */
import { InvalidArgumentError } from 'commander';
import type { AttributeDocument } from '../../../schemas/documents.ts';
import { type ApiKeyDocument, keyScopes, type PartnerDocument } from '../../../schemas/partner-documents.ts';
import { plainText } from '../../../schemas/paths.ts';
import { type Columns, listLines, none } from '../show.ts';

export const displayName = (text: string): string => {
  if (text.length < 1 || text.length > 256 || !plainText.test(text))
    throw new InvalidArgumentError('expected 1 to 256 characters, none of them a control character');
  return text;
};

export const partnerRecord = (partner: PartnerDocument) => ({
  partner_id: partner._id,
  name: partner.name,
  prefix: partner.prefix,
  suspended_at: partner.suspendedAt ?? null,
  created_at: partner.createdAt,
});
export const keyRecord = (key: ApiKeyDocument) => ({
  key: `hr_${key._id}`,
  partner_id: key.partner,
  label: key.label ?? null,
  scopes: key.scopes ?? keyScopes,
  expires_at: key.expiresAt ?? null,
  created_at: key.createdAt,
  revoked_at: key.revokedAt,
});
const visibilityOf = ({ isPrivate }: AttributeDocument) => (isPrivate ? 'private' : 'public');
export const attributeRecord = (attribute: AttributeDocument) => ({
  attribute_id: attribute._id,
  name: attribute.name,
  partner_foreign_key: attribute.foreignKey ?? null,
  visibility: visibilityOf(attribute),
});

interface IssuedStorage {
  access_key_id: string | null;
  secret_access_key: string | null;
  policy?: object;
}
/** The keys, or with HEADRACE_S3_ISSUER=manual how to create them. */
export const storageLines = ({ access_key_id, secret_access_key, policy }: IssuedStorage) =>
  policy
    ? [
        'Create a storage user with this policy and give its keys to the partner; headrace does not need them:',
        ...JSON.stringify(policy, null, 2).split('\n'),
      ]
    : [`access key  ${access_key_id}`, `secret key  ${secret_access_key}   (shown only now)`];

export const list = <T>(records: readonly T[], columns: Columns<T>, ifEmpty: string): string[] =>
  records.length === 0 ? [ifEmpty] : listLines(records, columns);

export const attributeLines = (attributes: AttributeDocument[]) =>
  list(
    attributes,
    {
      ATTRIBUTE: ({ _id }) => String(_id),
      VISIBILITY: visibilityOf,
      'FOREIGN KEY': ({ foreignKey }) => foreignKey ?? none,
      NAME: ({ name }) => name,
    },
    'no attributes yet: headrace admin attribute create …',
  );
