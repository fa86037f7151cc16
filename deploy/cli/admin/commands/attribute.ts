/** `headrace admin attribute …` */
import { type Command, Option } from 'commander';
import { count, plural } from '../../../../api/client/format.ts';
import { deletionOf } from '../../../../pipeline/accept/new-job.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import { parseConfig } from '../../../../schemas/config.ts';
import type { Environments } from '../../commands.ts';
import { yesOption } from '../../confirm.ts';
import { wholeNumber } from '../../parse-options.ts';
import { adminTools } from '../runner.ts';
import { attributeLines, attributeRecord, displayName } from '../views.ts';

interface CreateOptions {
  partner: string;
  name: string;
  foreignKey?: string;
  private?: true;
}

const unknown = (id: number) => new ProvisioningError('unknown_attribute', `there is no attribute ${id}`);

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  const attribute = admin
    .command('attribute')
    .description('create, list, rename and delete attributes, set their foreign keys and visibility');
  add(attribute, 'create', 'create an attribute')
    .requiredOption('--partner <id>', 'the partner that owns it')
    .requiredOption('--name <name>', 'display name', displayName)
    .option('--foreign-key <key>', 'its partner_foreign_key: the partner’s own key for it')
    .option('--private', 'show it only in the reports of its owner (default: public)')
    .action(({ private: isPrivate, ...options }: CreateOptions, command: Command) =>
      run(command, async ({ attributes }) => {
        const made = await attributes.create({ ...options, isPrivate });
        return { json: attributeRecord(made), text: attributeLines([made]) };
      }),
    );
  add(
    attribute,
    'import',
    'create many attributes from a CSV file with the columns name and, optionally, foreign key; warns about duplicate names',
  )
    .argument('<file>', 'the file, or - for standard input')
    .requiredOption('--partner <id>', 'the partner that owns them')
    .option('--private', 'show them only in the reports of their owner (default: public)')
    .action((file: string, options: { partner: string; private?: true }, command: Command) =>
      run(command, async (stores) => {
        const { importAttributes } = await import('../import-attributes.ts');
        const { created, existing, warnings } = await importAttributes(
          stores,
          options.partner,
          file,
          options.private,
        );
        const all = [...created, ...existing].sort((a, b) => a._id - b._id);
        const json = { created: created.length, existing: existing.length, warnings };
        const keyed = created.filter(({ foreignKey }) => foreignKey !== undefined).length;
        return {
          json: { ...json, attributes: all.map(attributeRecord) },
          text: [
            ...warnings.map((warning) => `warning: ${warning}`),
            `created ${plural(created.length, 'attribute')}, ${count(keyed)} with a foreign key; ${count(existing.length)} already existed`,
          ],
        };
      }),
    );
  add(attribute, 'list', 'list the attributes of a partner')
    .requiredOption('--partner <id>', 'the partner')
    .action((options: { partner: string }, command: Command) =>
      run.readOnly(command, async ({ partners, attributes }) => {
        await partners.find(options.partner);
        const all = await attributes.list(options.partner);
        return { json: all.map(attributeRecord), text: attributeLines(all) };
      }),
    );
  add(attribute, 'associate', 'set the foreign key of an attribute; it cannot be changed later')
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

  add(attribute, 'rename', 'change the display name of an attribute')
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .requiredOption('--name <name>', 'its new name', displayName)
    .action((options: { attribute: number; name: string }, command: Command) =>
      run(command, async ({ attributes }) => {
        const renamed = await attributes.rename({ id: options.attribute }, options.name);
        if (!renamed) throw unknown(options.attribute);
        return { json: attributeRecord(renamed), text: attributeLines([renamed]), partner: renamed.partner };
      }),
    );

  add(
    attribute,
    'delete',
    'permanently delete an attribute and its data; its id and foreign key are never reused',
  )
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .option(...yesOption)
    .action((options: { attribute: number; state?: string }, command: Command) => {
      const { attribute: id } = options;
      const question = `Delete attribute ${id} and all of its data permanently?`;
      return run.confirmed(command, question, async (stores) => {
        const deleted = await stores.attributes.hide({ id });
        if (!deleted) throw unknown(id);
        // Loads the Kafka client, which no other command here needs.
        const { acceptJob } = await import('../accept-job.ts');
        const config = parseConfig(environments.load(options.state), 'operator');
        const job = await acceptJob(stores, config, deletionOf(deleted.partner, id));
        await stores.attributes.deletionQueued(id, job._id);
        return {
          json: { attribute_id: id, import_log_id: job._id },
          text: [`attribute ${id} is deleted; job ${job._id} deletes its data`],
          partner: deleted.partner,
        };
      });
    });

  add(attribute, 'visibility', 'make an attribute public or private, effective immediately')
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .addOption(
      new Option('--public', 'show it in the reports of every partner and customer').conflicts('private'),
    )
    .option('--private', 'show it only in the reports of its owner')
    .action((options: { attribute: number; public?: true; private?: true }, command: Command) => {
      if (!options.public && !options.private) command.error('error: expected --public or --private');
      return run(command, async ({ attributes }) => {
        const { attribute: id } = options;
        const changed = await attributes.setVisibility({ id }, options.private ? 'private' : 'public');
        if (!changed) throw unknown(id);
        return {
          json: attributeRecord(changed),
          text: attributeLines([changed]),
          partner: changed.partner,
        };
      });
    });
}
