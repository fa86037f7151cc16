/** `headrace admin storage-key …`: a partner's keys for the shared bucket. */
import type { Command } from 'commander';
import type { Environments } from '../../commands.ts';
import { adminCommands } from '../runner.ts';

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  // These load the storage client, which few commands need.
  const provisioning = async () => ({
    ...(await import('../../../../api/provisioning/provision-partner.ts')),
    ...(await import('../../../../api/provisioning/rotate-storage-key.ts')),
  });
  const key = admin.command('storage-key').description('rotate the storage keys of a partner');
  add(key, 'rotate', 'issue new storage keys; the old ones keep working until they are retired')
    .requiredOption('--partner <id>', 'the partner')
    .changes(async ({ config, ...stores }, options: { partner: string }) => {
      const { createStorageIssuer, rotateStorageKey } = await provisioning();
      const issuer = createStorageIssuer(config, stores.counters);
      const { credentials } = await rotateStorageKey(stores, issuer, options.partner);
      return {
        json: {
          partner_id: options.partner,
          access_key_id: credentials.accessKeyId,
          secret_access_key: credentials.secretAccessKey,
        },
        text: [
          `access key  ${credentials.accessKeyId}`,
          `secret key  ${credentials.secretAccessKey}   (shown only now)`,
          `the old keys keep working; to retire them: headrace admin storage-key retire --partner ${options.partner}`,
        ],
      };
    });
  add(key, 'retire', 'revoke the storage keys from before the last rotation')
    .requiredOption('--partner <id>', 'the partner')
    .confirms((options: { partner: string }) => `Revoke the old storage keys of ${options.partner}?`)
    .changes(async ({ config, ...stores }, options: { partner: string }) => {
      const { createStorageIssuer, retireStorageKey } = await provisioning();
      const issuer = createStorageIssuer(config, stores.counters);
      await retireStorageKey(stores, issuer, options.partner);
      return {
        json: { partner_id: options.partner },
        text: [`the old storage keys of ${options.partner} no longer work`],
      };
    });
}
