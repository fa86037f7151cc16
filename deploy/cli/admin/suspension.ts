/** `headrace admin partner suspend|resume`. */
import type { Command } from 'commander';
import { plural } from '../../../api/client/format.ts';
import { when } from '../show.ts';
import type { AddAdminCommand } from './runner.ts';
import { partnerRecord } from './views.ts';

const storageLine = (done: boolean, what: 'suspended' | 'resumed') =>
  done
    ? `its storage keys are ${what}, too`
    : `its storage keys are not ${what}: this storage issuer cannot, so do it where they were issued`;

export function registerSuspensionCommands(partner: Command, add: AddAdminCommand): void {
  // These load the storage client, which few commands need.
  const provisioning = async () => ({
    ...(await import('../../../api/provisioning/provision-partner.ts')),
    ...(await import('../../../api/provisioning/suspend-partner.ts')),
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
