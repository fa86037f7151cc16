/** `headrace admin partner …` */
import type { Command } from 'commander';
import { plural } from '../../../../api/client/format.ts';
import type { PartnerDocument } from '../../../../schemas/partner-documents.ts';
import type { Environments } from '../../commands.ts';
import { type Columns, when, whenever } from '../../show.ts';
import { registerQuotaCommands } from '../quotas.ts';
import { type AddAdminCommand, adminCommands } from '../runner.ts';
import { displayName, list, partnerRecord, storageLines } from '../views.ts';

const columns: Columns<PartnerDocument> = {
  PARTNER: ({ _id }) => _id,
  PREFIX: ({ prefix }) => prefix,
  CREATED: ({ createdAt }) => when(createdAt),
  SUSPENDED: ({ suspendedAt }) => whenever(suspendedAt),
  NAME: ({ name }) => name,
};

const storageLine = (done: boolean, what: 'suspended' | 'resumed') =>
  done
    ? `its storage keys are ${what}, too`
    : `its storage keys are not ${what}: this storage issuer cannot, so do it where they were issued`;

function registerSuspensionCommands(partner: Command, add: AddAdminCommand): void {
  // These load the storage client, which few commands need.
  const provisioning = async () => ({
    ...(await import('../../../../api/provisioning/provision-partner.ts')),
    ...(await import('../../../../api/provisioning/suspend-partner.ts')),
  });
  add(partner, 'suspend', 'block a partner everywhere within five seconds; its queued jobs still run')
    .requiredOption('--partner <id>', 'the partner')
    .option('--reason <text>', 'why, for the audit log')
    .option('--cancel-jobs', 'cancel its unfinished jobs, except jobs that are being merged')
    .confirms((options: { partner: string }) => `Suspend partner ${options.partner}?`)
    .changes(async ({ config, ...stores }, options: { partner: string; cancelJobs?: boolean }) => {
      const { createStorageIssuer, suspendPartner } = await provisioning();
      const issuer = createStorageIssuer(config, stores.counters);
      const { cancelJobs = false } = options;
      const done = await suspendPartner(stores, issuer, options.partner, { cancelJobs });
      return {
        json: {
          ...partnerRecord(done.partner),
          storage_suspended: done.isStorageSuspended,
          cancelled_jobs: done.cancelled,
        },
        text: [
          `${options.partner} is suspended since ${when(done.partner.suspendedAt!)}`,
          storageLine(done.isStorageSuspended, 'suspended'),
          ...(cancelJobs ? [`cancelling ${plural(done.cancelled, 'job')}`] : []),
        ],
      };
    });
  add(partner, 'resume', 'lift the suspension of a partner; its keys stay the same')
    .requiredOption('--partner <id>', 'the partner')
    .changes(async ({ config, ...stores }, options: { partner: string }) => {
      const { createStorageIssuer, resumePartner } = await provisioning();
      const issuer = createStorageIssuer(config, stores.counters);
      const done = await resumePartner(stores, issuer, options.partner);
      return {
        json: { ...partnerRecord(done.partner), storage_resumed: done.isStorageResumed },
        text: [`${options.partner} is resumed`, storageLine(done.isStorageResumed, 'resumed')],
      };
    });
}

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
