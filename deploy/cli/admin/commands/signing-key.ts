/** `headrace admin signing-key rotate`: the key that signs receipts of privacy requests. */
import type { Command } from 'commander';
import type { Environments } from '../../commands.ts';
import { adminCommands } from '../runner.ts';

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const key = admin.command('signing-key').description('manage the key that signs receipts');
  add(
    key,
    'rotate',
    'create a replacement key; receipts signed with the old key can still be verified',
  ).changes(async ({ signingKeys, config }) => {
    const { made, replaced } = await signingKeys.rotate(config.secret);
    return {
      json: { key: made, replaces: replaced },
      text: [
        `receipts are signed with ${made} from now on`,
        ...replaced.map((id) => `${id} stays in /.well-known/jwks.json; its private key is erased`),
      ],
    };
  });
}
