/** `headrace admin partner …` */
import type { Command } from 'commander';
import type { Environments } from '../../commands.ts';
import { registerQuotaCommands } from '../quotas.ts';
import { adminTools } from '../runner.ts';
import { registerSuspensionCommands } from '../suspension.ts';
import { displayName, partnerLines, partnerRecord, storageLines } from '../views.ts';

export function register(admin: Command, environments: Environments): void {
  const tools = adminTools(environments);
  const { run, add } = tools;
  const partner = admin
    .command('partner')
    .description('create, list, suspend and resume partners, and set their quotas');
  add(partner, 'create', 'create a partner with storage credentials and its first API key')
    .requiredOption('--name <name>', 'display name', displayName)
    .action((options: { name: string }, command: Command) =>
      run(command, async (stores, config) => {
        // Loads the storage client, which no other command needs.
        const { provisionPartner } = await import('../../../../api/provisioning/provision-partner.ts');
        const made = await provisionPartner(stores, config, options.name);
        const text = [
          `partner     ${made.partner_id}`,
          `API key     ${made.api_key}   (shown only now)`,
          `storage     ${made.s3.endpoint}   region ${made.s3.region}`,
          `upload to   s3://${made.s3.bucket}/${made.s3.prefix}`,
          ...storageLines(made.s3),
        ];
        return { json: made, text, partner: made.partner_id };
      }),
    );
  add(partner, 'list', 'list all partners').action((_options, command: Command) =>
    run.readOnly(command, async ({ partners }) => {
      const all = await partners.list();
      return { json: all.map(partnerRecord), text: partnerLines(all) };
    }),
  );

  registerSuspensionCommands(partner, tools);
  registerQuotaCommands(partner, tools);
}
