/** Runs one admin command: configuration, database, output, exit code. */
import type { Command } from 'commander';
import type { Db } from 'mongodb';
import { type ApiStores, createApiStores } from '../../../api/stores/api-stores.ts';
import { createInstallationStore } from '../../../api/stores/installation.ts';
import { CommandFailed, mongoHosts } from '../../../pipeline/runtime/errors.ts';
import { printable, printableLines, toJsonLine } from '../../../pipeline/runtime/terminal.ts';
import { ensureIndexes } from '../../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../../pipeline/stores/mongo.ts';
import { ProvisioningError } from '../../../pipeline/stores/partners.ts';
import { type ConfigOf, parseConfig } from '../../../schemas/config.ts';
import type { Environments } from '../commands.ts';
import { confirmFirst } from '../confirm.ts';
import type { ExpectedStack } from '../environment.ts';
import { actorOf, describeCommand, recordAction } from './record-action.ts';

export interface Outcome {
  /** What `--json` prints. */
  json: unknown;
  /** What is printed without `--json`. */
  text: string[];
  /** The partner for the audit log, if no option names it. */
  partner?: string;
}

export type Work = (stores: ApiStores, config: ConfigOf<'admin'>) => Promise<Outcome>;

const FAILED = 1;

/** A local stack may have stopped and another one taken its ports. Checked before any change, indexes included. */
async function requireStack(
  { mongoUrl }: Pick<ConfigOf<'admin'>, 'mongoUrl'>,
  db: Db,
  { directory, installation }: ExpectedStack,
): Promise<void> {
  if (installation !== undefined && (await createInstallationStore(db).isKnownAs(installation))) return;
  throw new CommandFailed(
    'wrong_stack',
    `MongoDB at ${mongoHosts(mongoUrl)} does not belong to the stack in ${directory}; nothing was changed. Start that stack with: headrace up --state ${directory}`,
  );
}

export type AdminTools = ReturnType<typeof adminTools>;

export function adminTools({ load, expectedStack }: Environments) {
  async function readOnly(command: Command, work: Work): Promise<void> {
    const options = command.opts<{ state?: string; json?: boolean }>();
    const { writeOut, writeErr } = command.configureOutput();
    // Not caught: the caller reports configuration errors for all commands.
    const config = parseConfig(load(options.state), 'admin');
    const mongo = await connectMongo(config);
    const stack = expectedStack(options.state);
    try {
      if (stack) await requireStack(config, mongo.db, stack);
      await ensureIndexes(mongo.db);
      const { json, text } = await work(createApiStores(mongo.db), config);
      // Admin output has no colours, so all control characters are escaped.
      writeOut!(options.json ? toJsonLine(json) : text.map((line) => `${printable(line)}\n`).join(''));
    } catch (error) {
      if (!(error instanceof ProvisioningError)) return await mongo.fail(error);
      writeErr!(`${printableLines(`headrace: ${error.message}`)}\n`);
      process.exitCode = FAILED;
    } finally {
      await mongo.close();
    }
  }

  /** Records every command in the audit log, except read-only ones. */
  const run = (command: Command, work: Work): Promise<void> =>
    readOnly(command, (stores, config) =>
      recordAction(stores.audit, { actor: actorOf(config), ...describeCommand(command) }, () =>
        work(stores, config),
      ),
    );

  const confirmed = async (command: Command, question: string, work: Work): Promise<void> => {
    await confirmFirst(command, question);
    await run(command, work);
  };

  const add = (parent: Command, name: string, description: string): Command =>
    parent
      .command(name)
      .description(description)
      .option('--state <dir>', 'use the local stack in this folder, not the servers in the environment')
      .option('--json', 'print a single JSON value');

  return { add, run: Object.assign(run, { readOnly, confirmed }) };
}
