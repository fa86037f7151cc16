/** Runs one admin command: configuration, database, output, exit code. */
import type { Command } from 'commander';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import { type ConfigOf, parseConfig } from '../../schemas/config.ts';
import { type ApiStores, createApiStores } from '../stores.ts';
import { actorOf, describeCommand, recordAction } from './record-action.ts';

export type LoadEnvironment = (stateDir?: string) => Record<string, string | undefined>;

export interface Outcome {
  /** What `--json` prints. */
  json: unknown;
  /** What is printed without `--json`. */
  text: string[];
  /** Whom it concerned, for the audit log, if no option says so. */
  partner?: string;
}

type Work = (stores: ApiStores, config: ConfigOf<'admin'>) => Promise<Outcome>;

const FAILED = 1;

export function createAdminRunner(loadEnv: LoadEnvironment) {
  async function readOnly(command: Command, work: Work): Promise<void> {
    const options = command.opts<{ state?: string; json?: boolean }>();
    const { writeOut, writeErr } = command.configureOutput();
    // Configuration errors are reported by the caller, the same for all commands.
    const config = parseConfig(loadEnv(options.state), 'admin');
    const mongo = await connectMongo(config);
    try {
      await ensureIndexes(mongo.db);
      const { json, text } = await work(createApiStores(mongo.db), config);
      writeOut!(options.json ? `${JSON.stringify(json)}\n` : text.map((line) => `${line}\n`).join(''));
    } catch (error) {
      if (!(error instanceof ProvisioningError)) return await mongo.fail(error);
      writeErr!(`headrace: ${error.message}\n`);
      process.exitCode = FAILED;
    } finally {
      await mongo.close();
    }
  }

  /** Every command is recorded in the audit log, unless it says that it only reads. */
  const run = (command: Command, work: Work): Promise<void> =>
    readOnly(command, (stores, config) =>
      recordAction(stores.audit, { actor: actorOf(config), ...describeCommand(command) }, () =>
        work(stores, config),
      ),
    );
  return Object.assign(run, { readOnly });
}
