/** `headrace admin key …`: API keys with their scopes and lifetimes. */
import { type Command, InvalidArgumentError } from 'commander';
import { millisecondsIn } from '../../../../pipeline/runtime/duration.ts';
import { type ApiKeyDocument, type KeyScope, keyScopes } from '../../../../schemas/partner-documents.ts';
import type { Environments } from '../../commands.ts';
import { durationText, lifetime } from '../../parse-options.ts';
import { type Columns, when, whenever } from '../../show.ts';
import { withoutSecret } from '../record-action.ts';
import { adminCommands } from '../runner.ts';
import { displayName, keyRecord, list } from '../views.ts';

function scopes(text: string): KeyScope[] {
  const named = text.split(',').map((each) => each.trim());
  const isKnown = (each: string): each is KeyScope => (keyScopes as readonly string[]).includes(each);
  if (!named.every(isKnown)) throw new InvalidArgumentError(`expected one or more of ${keyScopes.join(',')}`);
  return keyScopes.filter((each) => named.includes(each));
}

const after = (time: string) => new Date(Date.now() + millisecondsIn(time));
const shown = (key: string, expiresAt: Date | undefined) => [
  `API key  ${key}   (shown only now)`,
  ...(expiresAt ? [`works until ${when(expiresAt)}`] : []),
];

const columns: Columns<ApiKeyDocument> = {
  KEY: ({ _id }) => `hr_${_id}`,
  PARTNER: ({ partner }) => partner,
  SCOPES: ({ scopes = keyScopes }) => scopes.join(','),
  CREATED: ({ createdAt }) => when(createdAt),
  EXPIRES: ({ expiresAt }) => whenever(expiresAt),
  REVOKED: ({ revokedAt }) => whenever(revokedAt),
  LABEL: ({ label }) => label ?? '',
};

interface CreateOptions {
  partner: string;
  label?: string;
  scopes?: KeyScope[];
  expires?: string;
}

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const key = admin.command('key').description('create, rotate, revoke and list API keys');
  add(key, 'create', 'create another API key for a partner')
    .requiredOption('--partner <id>', 'the partner')
    .option('--label <label>', 'what the key is used for', displayName)
    .option('--scopes <list>', `permissions, from ${keyScopes.join(',')} (default: all)`, scopes)
    .option('--expires <time>', 'lifetime, such as 90d (default: unlimited)', lifetime)
    .changes(async ({ apiKeys, config }, { partner, label, scopes, expires }: CreateOptions) => {
      const limits = { scopes, expiresAt: expires === undefined ? undefined : after(expires) };
      const made = await apiKeys.create(config.secret, partner, label, limits);
      const json = {
        partner_id: partner,
        key: `hr_${made.id}`,
        api_key: made.key,
        expires_at: made.expiresAt ?? null,
      };
      return { json, text: shown(made.key, made.expiresAt) };
    });
  add(
    key,
    'rotate',
    'create a key with the same scopes and lifetime; the old key keeps working for the overlap',
  )
    .requiredOption('--key <prefix>', 'the part of the old key that lists show, such as hr_ab12cd34')
    .option('--overlap <time>', 'how long the old key keeps working, such as 0s or 7d', durationText, '1d')
    .option('--expires <time>', 'a different lifetime for the new key, such as 90d', lifetime)
    .changes(
      async (
        { apiKeys, config },
        { key: old, overlap, expires }: { key: string; overlap: string; expires?: string },
      ) => {
        const { made, replaced } = await apiKeys.rotate(
          config.secret,
          old,
          after(overlap),
          expires === undefined ? undefined : after(expires),
        );
        const json = {
          partner_id: replaced.partner,
          key: `hr_${made.id}`,
          api_key: made.key,
          expires_at: made.expiresAt ?? null,
          replaces: `hr_${replaced._id}`,
          replaced_expires_at: replaced.expiresAt,
        };
        const text = [
          ...shown(made.key, made.expiresAt),
          `hr_${replaced._id} works until ${when(replaced.expiresAt!)}`,
        ];
        return { json, text, partner: replaced.partner };
      },
    );
  add(key, 'revoke', 'revoke a key; it is refused everywhere within five seconds')
    .requiredOption('--key <prefix>', 'the part of the key that lists show, such as hr_ab12cd34')
    .confirms((options: { key: string }) => `Revoke ${withoutSecret(options.key)}?`)
    .changes(async ({ apiKeys }, options: { key: string }) => {
      const revoked = await apiKeys.revoke(options.key);
      return {
        json: keyRecord(revoked),
        text: [`hr_${revoked._id} is revoked`],
        partner: revoked.partner,
      };
    });
  add(key, 'list', 'list API keys, without their secret parts')
    .option('--partner <id>', 'only keys of this partner')
    .reads(async ({ apiKeys }, options: { partner?: string }) => {
      const keys = await apiKeys.list(options.partner);
      return { json: keys.map(keyRecord), text: list(keys, columns, 'no API keys') };
    });
}
