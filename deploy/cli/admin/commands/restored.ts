/** `headrace admin restored`, after restoring MongoDB from a backup. */
import type { Command } from 'commander';
import { count } from '../../../../api/client/format.ts';
import type { LostJob } from '../../../../api/jobs/after-restore.ts';
import { createLogger } from '../../../../pipeline/runtime/log.ts';
import { parseConfig } from '../../../../schemas/config.ts';
import type { Environments } from '../../commands.ts';
import { none, whenever } from '../../show.ts';
import { adminTools } from '../runner.ts';
import { table } from '../views.ts';

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

const lostLines = (lost: LostJob[]) =>
  table(
    ['LOST JOB', 'KIND', 'PARTNER', 'PATH', 'ACCEPTED'],
    lost.map((one) => {
      const { job, kind, partner_id, file_path, accepted_at } = lostRecord(one);
      return [String(job), kind ?? none, partner_id ?? none, file_path ?? none, whenever(accepted_at)];
    }),
    'no lost jobs',
  );

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  add(admin, 'restored', 'after restoring MongoDB from a backup: realign Kafka with it and list lost jobs')
    .addHelpText('after', HOW)
    .action(({ state }: { state?: string }, command: Command) =>
      run(command, async (stores) => {
        // Loads the Kafka client, which no other command needs.
        const { settleAfterRestore } = await import('../../../../api/jobs/after-restore.ts');
        const config = parseConfig(environments.load(state), 'operator');
        const log = createLogger({ logLevel: 'silent' }, 'restored');
        const lost = await settleAfterRestore({ ...stores, config, log });
        const unfinished = await stores.jobs.countUnfinished();
        return {
          json: { unfinished_jobs: unfinished, lost_jobs: lost.map(lostRecord) },
          text: [...lostLines(lost), `unfinished jobs that run again: ${count(unfinished)}`],
        };
      }),
    );
}
