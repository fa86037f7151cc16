/** `headrace admin token-key …`: a partner's keys for signing user tokens. */
import type { Command } from 'commander';
import type { SigningKey } from '../../../../api/stores/token-keys.ts';
import type { ConfigOf } from '../../../../schemas/config.ts';
import type { TokenKeyDocument } from '../../../../schemas/partner-documents.ts';
import type { Environments } from '../../commands.ts';
import { type Columns, none, when, whenever } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { displayName, list } from '../views.ts';

const record = (key: TokenKeyDocument) => ({
  key: key._id,
  partner_id: key.partner,
  label: key.label ?? null,
  created_at: key.createdAt,
  rotated_to: key.rotatedTo ?? null,
  retired_at: key.retiredAt,
});
const columns: Columns<TokenKeyDocument> = {
  KEY: ({ _id }) => _id,
  PARTNER: ({ partner }) => partner,
  CREATED: ({ createdAt }) => when(createdAt),
  'ROTATED TO': ({ rotatedTo }) => rotatedTo ?? none,
  RETIRED: ({ retiredAt }) => whenever(retiredAt),
  LABEL: ({ label }) => label ?? '',
};

/** Everything needed to sign a token. */
const shownOnce = (
  { id, partner, secret }: SigningKey,
  { userTokenAudience }: Pick<ConfigOf<'admin'>, 'userTokenAudience'>,
) => ({
  json: { partner_id: partner, key: id, secret, issuer: partner, audience: userTokenAudience },
  text: [
    `key (kid)       ${id}`,
    `secret          ${secret}   (shown only now)`,
    `issuer (iss)    ${partner}`,
    `audience (aud)  ${userTokenAudience}`,
  ],
});

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const key = admin
    .command('token-key')
    .description('create, rotate, retire and list the keys that sign user tokens');
  add(key, 'create', 'create a key that signs user tokens of a partner’s customers')
    .requiredOption('--partner <id>', 'the partner')
    .option('--label <label>', 'where the key is used', displayName)
    .changes(async ({ tokenKeys, config }, { partner, label }: { partner: string; label?: string }) =>
      shownOnce(await tokenKeys.create(config.secret, partner, label), config),
    );
  add(key, 'rotate', 'create a replacement key; the old one keeps working until it is retired')
    .requiredOption('--key <kid>', 'the old key, such as tk_ab12cd34')
    .changes(async ({ tokenKeys, config }, { key: old }: { key: string }) => {
      const { made, replaced } = await tokenKeys.rotate(config.secret, old);
      const { json, text } = shownOnce(made, config);
      return {
        json: { ...json, replaces: replaced._id },
        text: [
          ...text,
          `${replaced._id} keeps working; to retire it: headrace admin token-key retire --key ${replaced._id}`,
        ],
        partner: replaced.partner,
      };
    });
  add(key, 'retire', 'retire a key: its tokens and their sessions are rejected within five seconds')
    .requiredOption('--key <kid>', 'the key, such as tk_ab12cd34')
    .confirms((options: { key: string }) => `Retire ${options.key}?`)
    .changes(async ({ tokenKeys }, options: { key: string }) => {
      const retired = await tokenKeys.retire(options.key);
      return { json: record(retired), text: [`${retired._id} is retired`], partner: retired.partner };
    });
  add(key, 'list', 'list token keys, without their secrets')
    .option('--partner <id>', 'only keys of this partner')
    .reads(async ({ tokenKeys }, options: { partner?: string }) => {
      const keys = await tokenKeys.list(options.partner);
      return { json: keys.map(record), text: list(keys, columns, 'no token keys') };
    });
}
