/** `headrace whoami`: the service, partner, key and customer in use. */

import type { Command } from 'commander';
import { accountPath } from '../../../../api/client/client.ts';
import type { Account } from '../../../../api/client/types.ts';
import { printable, table } from '../../../../pipeline/runtime/terminal.ts';
import { none, whenever } from '../../show.ts';
import { profileOf, type Settings } from '../settings.ts';
import { addCommand } from '../subcommands.ts';

const keyLines = ({ key }: Account): string[][] =>
  key === null
    ? []
    : [
        ['key', `${key.key}${key.label === null ? '' : `  ${printable(key.label)}`}`],
        ['scopes', key.scopes.join(', ')],
        ['expires', whenever(key.expires_at)],
      ];

const lines = (account: Account, profile: string | null, settings: Settings): string[] =>
  table([
    ['service', settings.api_url!],
    ['profile', profile ?? none],
    ['partner', `${account.partner_id}  ${printable(account.name)}`],
    ...(account.customer === null ? [] : [['customer', printable(account.customer)]]),
    ...keyLines(account),
    ['storage', settings.storage_url ?? none],
  ]);

export function register(program: Command): void {
  addCommand(program, 'whoami', 'show the service, partner, API key and customer in use').runs(
    async ({ api, settings, print }, options: Record<string, unknown>) => {
      const profile = profileOf(options)?.name ?? null;
      const { data } = await api.get<Account>(accountPath);
      const { api_url, storage_url = null } = settings;
      await print({ profile, api_url, storage_url, ...data }, () => lines(data, profile, settings));
    },
  );
}
