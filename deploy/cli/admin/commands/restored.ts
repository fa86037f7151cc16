/** `headrace admin restored`, after restoring MongoDB from a backup. */
import type { Command } from 'commander';
import { count } from '../../../../api/client/format.ts';
import type { LostJob } from '../../../../api/jobs/after-restore.ts';
import { createLogger } from '../../../../pipeline/runtime/log.ts';
import type { Environments } from '../../commands.ts';
import { type Columns, none, whenever } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { list } from '../views.ts';

const HOW = `
Stop all API and pipeline processes first. MongoDB is the source of truth: messages in Kafka are skipped, unfinished jobs in the database
run again, and job numbers assigned after the backup are not reused. Those jobs are lost and listed: their partners must submit them
again. Audience clears since the backup are undone and not listed.
Running it twice, or without need, is harmless: jobs in flight are loaded once more.`;

const lostRecord = ({ job, accepted }: LostJob) => ({
  job,
  kind: accepted?.kind ?? null,
  partner_id: accepted?.partner ?? null,
  file_path: accepted?.file_path ?? null,
  accepted_at: accepted ? new Date(accepted.accepted_at).toISOString() : null,
});

const columns: Columns<ReturnType<typeof lostRecord>> = {
  'LOST JOB': ({ job }) => String(job),
  KIND: ({ kind }) => kind ?? none,
  PARTNER: ({ partner_id }) => partner_id ?? none,
  PATH: ({ file_path }) => file_path ?? none,
  ACCEPTED: ({ accepted_at }) => whenever(accepted_at),
};

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  add(admin, 'restored', 'after restoring MongoDB from a backup: realign Kafka with it and list lost jobs')
    .addHelpText('after', HOW)
    .changes(async ({ operatorConfig, ...stores }) => {
      // Loads the Kafka client, which no other command needs.
      const { settleAfterRestore } = await import('../../../../api/jobs/after-restore.ts');
      const config = operatorConfig();
      const log = createLogger({ logLevel: 'silent' }, 'restored');
      const lost = await settleAfterRestore({ ...stores, config, log });
      const unfinished = await stores.jobs.countUnfinished();
      return {
        json: { unfinished_jobs: unfinished, lost_jobs: lost.map(lostRecord) },
        text: [
          ...list(lost.map(lostRecord), columns, 'no lost jobs'),
          `unfinished jobs that run again: ${count(unfinished)}`,
        ],
      };
    });
}
