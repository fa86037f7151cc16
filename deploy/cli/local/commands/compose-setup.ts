/** Prepares the servers of deploy/compose.yaml: a replica set and the shared bucket. */
import type { Command } from 'commander';
import { parseConfig } from '../../../../schemas/config.ts';
import type { Environment } from '../../../local/addresses.ts';
import { initiateReplicaSet } from '../../../local/mongod.ts';
import { makeSharedBucket } from '../../../local/s3.ts';
import { StartError } from '../../../local/start-error.ts';
import { START_MS } from '../../../local/supervise.ts';
import { poll } from '../../../local/wait.ts';

async function composeSetup(env: Environment): Promise<void> {
  const config = parseConfig(env);
  const mongo = new URL(config.mongoUrl).host;
  let reason: unknown;
  const trying = (work: () => Promise<boolean>) =>
    poll(
      () =>
        work().catch((error) => {
          reason = error;
          return false;
        }),
      { deadlineMs: START_MS, everyMs: 500 },
    );
  const isDone =
    (await trying(() => initiateReplicaSet(mongo))) &&
    (await trying(async () => {
      await makeSharedBucket({
        endpoint: config.s3Endpoint,
        region: config.s3Region,
        bucket: config.s3Bucket,
        accessKeyId: config.s3AccessKeyId ?? '',
        secretAccessKey: config.s3SecretAccessKey ?? '',
      });
      return true;
    }));
  if (!isDone) throw new StartError('no_setup', `cannot set up the servers: ${(reason as Error).message}`);
}

export function register(program: Command): void {
  program
    .command('compose-setup', { hidden: true })
    .description('initiate the replica set and create the bucket of deploy/compose.yaml')
    .action(() => composeSetup(process.env));
}
