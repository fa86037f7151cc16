/** `headrace admin partner …` */
import type { Command } from 'commander';
import type { PartnerDocument } from '../../../../schemas/partner-documents.ts';
import type { Environments } from '../../commands.ts';
import { type Columns, when, whenever } from '../../show.ts';
import { registerQuotaCommands } from '../quotas.ts';
import { adminCommands } from '../runner.ts';
import { registerSuspensionCommands } from '../suspension.ts';
import { displayName, list, partnerRecord, storageLines } from '../views.ts';

const columns: Columns<PartnerDocument> = {
  PARTNER: ({ _id }) => _id,
  PREFIX: ({ prefix }) => prefix,
  CREATED: ({ createdAt }) => when(createdAt),
  SUSPENDED: ({ suspendedAt }) => whenever(suspendedAt),
  NAME: ({ name }) => name,
};

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const partner = admin
    .command('partner')
    .description('create, list, suspend and resume partners, and set their quotas');
  add(partner, 'create', 'create a partner with storage credentials and its first API key')
    .requiredOption('--name <name>', 'display name', displayName)
    .changes(async ({ config, ...stores }, options: { name: string }) => {
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
    });
  add(partner, 'list', 'list all partners').reads(async ({ partners }) => {
    const all = await partners.list();
    return {
      json: all.map(partnerRecord),
      text: list(all, columns, 'no partners yet: headrace admin partner create --name …'),
    };
  });

  registerSuspensionCommands(partner, add);
  registerQuotaCommands(partner, add);
}
