/** Admin commands: configuration, database, output, audit log. */
import type { Command } from 'commander';
import type { Db } from 'mongodb';
import { type ApiStores, createApiStores } from '../../../api/stores/api-stores.ts';
import { createInstallationStore } from '../../../api/stores/installation.ts';
import { CommandFailed, mongoHosts } from '../../../pipeline/runtime/errors.ts';
import { printable, toJsonLine } from '../../../pipeline/runtime/terminal.ts';
import { ensureIndexes } from '../../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../../pipeline/stores/mongo.ts';
import { type ConfigOf, type OperatorConfig, parseConfig } from '../../../schemas/config.ts';
import type { Environments } from '../commands.ts';
import { ConfirmedCommand } from '../confirm.ts';
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

export interface AdminContext extends ApiStores {
  config: ConfigOf<'admin'>;
  /** For the few commands that use Kafka. */
  operatorConfig(): OperatorConfig;
}

/** Given the command's arguments and options. */
type Work<Given extends unknown[]> = (context: AdminContext, ...given: Given) => Promise<Outcome>;

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

class AdminCommand extends ConfirmedCommand {
  constructor(
    name: string,
    private readonly environments: Environments,
  ) {
    super(name);
  }

  /** Is not recorded in the audit log. */
  reads<Given extends unknown[]>(work: Work<Given>): this {
    return this.action((...given) =>
      this.perform((context) => work(context, ...(given.slice(0, -1) as Given))),
    );
  }

  changes<Given extends unknown[]>(work: Work<Given>): this {
    return this.action(async (...all) => {
      const given = all.slice(0, -1) as Given;
      await this.confirm(given);
      await this.perform((context) =>
        recordAction(context.audit, { actor: actorOf(context.config), ...describeCommand(this) }, () =>
          work(context, ...given),
        ),
      );
    });
  }

  /** Shows the data about a device, so it is recorded like a change. */
  discloses<Given extends unknown[]>(work: Work<Given>): this {
    return this.changes(work);
  }

  private async perform(work: Work<[]>): Promise<void> {
    const { state, json: isJson } = this.opts<{ state?: string; json?: boolean }>();
    const { load, expectedStack } = this.environments;
    const config = parseConfig(load(state), 'admin');
    const mongo = await connectMongo(config);
    const stack = expectedStack(state);
    try {
      if (stack) await requireStack(config, mongo.db, stack);
      await ensureIndexes(mongo.db);
      const { json, text } = await work({
        ...createApiStores(mongo.db),
        config,
        operatorConfig: () => parseConfig(load(state), 'operator'),
      });
      // Admin output has no colours, so all control characters are escaped.
      this.configureOutput().writeOut!(
        isJson ? toJsonLine(json) : text.map((line) => `${printable(line)}\n`).join(''),
      );
    } catch (error) {
      await mongo.fail(error);
    } finally {
      await mongo.close();
    }
  }
}

export type AddAdminCommand = ReturnType<typeof adminCommands>;

export const adminCommands =
  (environments: Environments) =>
  (parent: Command, name: string, description: string): AdminCommand => {
    const command = new AdminCommand(name, environments).copyInheritedSettings(parent);
    parent.addCommand(command);
    return command
      .description(description)
      .option('--state <dir>', 'use the local stack in this folder, not the servers in the environment')
      .option('--json', 'print a single JSON value');
  };
