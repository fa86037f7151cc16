/** Runs one admin command: configuration, database, output, exit code. */
import type { Command } from 'commander';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { ProvisioningError } from '../../pipeline/stores/partners.ts';
import { type ConfigOf, parseConfig } from '../../schemas/config.ts';
import { type ApiStores, createApiStores } from '../stores.ts';

export type LoadEnvironment = (stateDir?: string) => Record<string, string | undefined>;

export interface Outcome {
  /** What `--json` prints. */
  json: unknown;
  /** What is printed without `--json`. */
  text: string[];
}

const FAILED = 1;

export function createAdminRunner(loadEnv: LoadEnvironment) {
  return async (
    command: Command,
    work: (stores: ApiStores, config: ConfigOf<'admin'>) => Promise<Outcome>,
  ) => {
    const options = command.opts<{ state?: string; json?: boolean }>();
    // Configuration errors are reported by the caller, the same for all commands.
    const config = parseConfig(loadEnv(options.state), 'admin');
    const mongo = await connectMongo(config);
    try {
      await ensureIndexes(mongo.db);
      const { json, text } = await work(createApiStores(mongo.db), config);
      process.stdout.write(
        options.json ? `${JSON.stringify(json)}\n` : text.map((line) => `${line}\n`).join(''),
      );
    } catch (error) {
      if (!(error instanceof ProvisioningError)) return await mongo.fail(error);
      process.stderr.write(`headrace: ${error.message}\n`);
      process.exitCode = FAILED;
    } finally {
      await mongo.close();
    }
  };
}
