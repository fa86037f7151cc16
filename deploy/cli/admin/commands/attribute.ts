/** `headrace admin …`: provisioning, on the same database as the service. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import { registerQuotaCommands } from '../quotas.ts';
import { createAdminRunner, type ExpectedStack, type LoadEnvironment } from '../runner.ts';
import { registerSuspensionCommands } from '../suspension.ts';
import {
  attributeLines,
  attributeRecord,
  displayName,
  partnerLines,
  partnerRecord,
  storageLines,
} from '../views.ts';
import { registerAuditCommand } from './audit.ts';
import { registerDeviceCommands } from './device.ts';
import { registerJobCommands } from './job.ts';
import { registerKeyCommands } from './key.ts';
import { registerRestoredCommand } from './restored.ts';
import { registerSecretCommands } from './secret.ts';
import { registerStorageKeyCommands } from './storage-key.ts';
import { registerTokenKeyCommands } from './token-key.ts';
import { registerTokenCommand } from './user-token.ts';
import { registerWebhookAdmin } from './webhook.ts';

const wholeNumber = (text: string) => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected an attribute_id');
  return Number(text);
};

interface CreateOptions {
  partner: string;
  name: string;
  foreignKey?: string;
  private?: true;
}

export function registerAdminCommands(
  program: Command,
  loadEnv: LoadEnvironment,
  expected: (stateDir?: string) => ExpectedStack | undefined = () => undefined,
): void {
  const admin = program
    .command('admin')
    .description(
      'manage partners, API keys, storage keys, attributes, webhooks, user tokens and their keys, devices, jobs and the secret; show the audit log',
    );
  const run = createAdminRunner(loadEnv, expected);
  const common = (command: Command) =>
    command
      .option('--state <dir>', 'the local stack in this folder, instead of the servers in the environment')
      .option('--json', 'print a single JSON value');

  const partner = admin
    .command('partner')
    .description('create, list, suspend and resume partners, and set their quotas');
  common(
    partner.command('create').description('create a partner with storage credentials and its first API key'),
  )
    .requiredOption('--name <name>', 'display name', displayName)
    .action((options: { name: string }, command: Command) =>
      run(command, async (stores, config) => {
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
      }),
    );
  common(partner.command('list').description('list all partners')).action((_options, command: Command) =>
    run.readOnly(command, async ({ partners }) => {
      const all = await partners.list();
      return { json: all.map(partnerRecord), text: partnerLines(all) };
    }),
  );

  registerSuspensionCommands(partner, run, common);
  registerQuotaCommands(partner, run, common);
  registerKeyCommands(admin, run, common);
  registerStorageKeyCommands(admin, run, common);

  const attribute = admin
    .command('attribute')
    .description('create and list attributes, set their foreign keys and who sees them');
  common(attribute.command('create').description('create an attribute'))
    .requiredOption('--partner <id>', 'the partner that owns it')
    .requiredOption('--name <name>', 'display name', displayName)
    .option('--foreign-key <key>', 'its partner_foreign_key: the partner’s own key for it')
    .option('--private', 'show it in the reports of its owner alone (default: public)')
    .action(({ private: isPrivate, ...options }: CreateOptions, command: Command) =>
      run(command, async ({ attributes }) => {
        const made = await attributes.create({ ...options, isPrivate });
        return { json: attributeRecord(made), text: attributeLines([made]) };
      }),
    );
  common(
    attribute
      .command('import')
      .description(
        'create many attributes from a CSV file with the columns name and, optionally, foreign key',
      )
      .argument('<file>', 'the file, or - for standard input'),
  )
    .requiredOption('--partner <id>', 'the partner that owns them')
    .option('--private', 'show those that are created in the reports of their owner alone (default: public)')
    .action((file: string, options: { partner: string; private?: true }, command: Command) =>
      run(command, async (stores) => {
        const { importAttributes } = await import('../import-attributes.ts');
        const { created, existing } = await importAttributes(stores, options.partner, file, options.private);
        const all = [...created, ...existing].sort((a, b) => a._id - b._id);
        const json = { created: created.length, existing: existing.length };
        return {
          json: { ...json, attributes: all.map(attributeRecord) },
          text: [`created ${created.length} attributes; ${existing.length} were there already`],
        };
      }),
    );
  common(attribute.command('list').description('list the attributes of a partner'))
    .requiredOption('--partner <id>', 'the partner')
    .action((options: { partner: string }, command: Command) =>
      run.readOnly(command, async ({ partners, attributes }) => {
        await partners.find(options.partner);
        const all = await attributes.list(options.partner);
        return { json: all.map(attributeRecord), text: attributeLines(all) };
      }),
    );
  common(
    attribute
      .command('associate')
      .description('set the foreign key of an attribute; it cannot be changed later'),
  )
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .requiredOption('--foreign-key <key>', 'its partner_foreign_key: the partner’s own key for it')
    .action((options: { attribute: number; foreignKey: string }, command: Command) =>
      run(command, async ({ attributes }) => {
        const changed = await attributes.associate(options.attribute, options.foreignKey);
        return {
          json: attributeRecord(changed),
          text: attributeLines([changed]),
          partner: changed.partner,
        };
      }),
    );

  common(
    attribute.command('visibility').description('make an attribute public or private, from this moment on'),
  )
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .addOption(
      new Option('--public', 'it may appear in the reports of every partner and customer').conflicts(
        'private',
      ),
    )
    .option('--private', 'it appears in the reports of its owner alone')
    .action((options: { attribute: number; public?: true; private?: true }, command: Command) =>
      run(command, async ({ attributes }) => {
        if (!options.public && !options.private)
          throw new ProvisioningError('bad_argument', 'expected --public or --private');
        const { attribute: id } = options;
        const changed = await attributes.setVisibility({ id }, options.private ? 'private' : 'public');
        if (!changed) throw new ProvisioningError('unknown_attribute', `there is no attribute ${id}`);
        return {
          json: attributeRecord(changed),
          text: attributeLines([changed]),
          partner: changed.partner,
        };
      }),
    );

  registerAuditCommand(admin, run, common);
  registerDeviceCommands(admin, run, common);
  registerJobCommands(admin, run, common);
  registerRestoredCommand(admin, run, common, loadEnv);
  registerSecretCommands(admin, run, common);
  registerTokenKeyCommands(admin, run, common);
  registerTokenCommand(admin, run, common);
  registerWebhookAdmin(admin, run, common);
}
