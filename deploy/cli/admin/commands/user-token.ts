/** `headrace admin user-token`: signs a token for a customer, or prints a link that signs the customer in to the console. */
import type { Command } from 'commander';
import { signUserToken } from '../../../../api/auth/user-tokens.ts';
import { createPublicAddress } from '../../../../api/http/pages.ts';
import type { ApiStores } from '../../../../api/stores/api-stores.ts';
import { openTokenKey } from '../../../../api/stores/token-keys.ts';
import { secretsOf } from '../../../../pipeline/runtime/seal.ts';
import { segmentOf } from '../../../../pipeline/stores/audiences.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import type { ConfigOf } from '../../../../schemas/config.ts';
import type { Environments } from '../../commands.ts';
import { lifetime, notEmpty, wholeNumber } from '../../parse-options.ts';
import { adminCommands } from '../runner.ts';

interface Options {
  partner: string;
  customer: string;
  expiresIn?: string;
  segment?: number;
}

/** Anyone with the link is signed in until its token expires, so it is short-lived by default. */
const lifetimeOf = ({ expiresIn, segment }: Options) => expiresIn ?? (segment === undefined ? '1h' : '1d');

async function signToken(
  { partners, tokenKeys }: ApiStores,
  config: ConfigOf<'admin'>,
  options: Options,
): Promise<string> {
  const { partner, customer } = options;
  await partners.find(partner);
  const key = await tokenKeys.current(partner);
  if (!key)
    throw new ProvisioningError(
      'unknown_key',
      `partner ${partner} has no token key: headrace admin token-key create --partner ${partner}`,
    );
  return signUserToken(openTokenKey(secretsOf(config), key), customer, lifetimeOf(options), config);
}

async function linkTo(
  segment: number,
  token: string,
  { audiences }: ApiStores,
  config: ConfigOf<'admin'>,
  { partner, customer }: Options,
): Promise<string> {
  if (!(await audiences.find({ partner, customer }, segment - segmentOf(0))))
    throw new ProvisioningError('bad_argument', `customer ${customer} has no segment ${segment}`);
  const addressOf = createPublicAddress({
    publicUrl: config.publicUrl ?? `http://${config.apiHost}:${config.apiPort}`,
  });
  return addressOf(`/console/segments/${segment}?token=${token}`);
}

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  add(admin, 'user-token', 'sign a user token for a customer, with the newest key of the partner')
    .requiredOption('--partner <id>', 'the partner')
    .requiredOption('--customer <name>', 'the customer', notEmpty)
    .option(
      '--expires-in <time>',
      'lifetime of the token, such as 30m (default: 1h, for a link 1d)',
      lifetime,
    )
    .option('--segment <id>', 'print a sign-in link to this segment in the console', wholeNumber)
    .changes(async ({ config, ...stores }, options: Options) => {
      const token = await signToken(stores, config, options);
      if (options.segment === undefined) return { json: { user_token: token }, text: [token] };
      const link = await linkTo(options.segment, token, stores, config, options);
      return { json: { user_token: token, console_url: link }, text: [link] };
    });
}
