/** `headrace admin attribute …` */
import { type Command, Option } from 'commander';
import { count, plural } from '../../../../api/client/format.ts';
import { deletionOf } from '../../../../pipeline/accept/new-job.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import type { AttributeDocument } from '../../../../schemas/documents.ts';
import type { Environments } from '../../commands.ts';
import { wholeNumber } from '../../parse-options.ts';
import { adminCommands, type Outcome } from '../runner.ts';
import { attributeLines, attributeRecord, displayName } from '../views.ts';

interface CreateOptions {
  partner: string;
  name: string;
  foreignKey?: string;
  private?: true;
}

const outcomeOf = (attribute: AttributeDocument): Outcome => ({
  json: attributeRecord(attribute),
  text: attributeLines([attribute]),
  partner: attribute.partner,
});
const unknown = (id: number) => new ProvisioningError('unknown_attribute', `there is no attribute ${id}`);

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const attribute = admin
    .command('attribute')
    .description('create, list, rename and delete attributes, set their foreign keys and visibility');
  add(attribute, 'create', 'create an attribute')
    .requiredOption('--partner <id>', 'the partner that owns it')
    .requiredOption('--name <name>', 'display name', displayName)
    .option('--foreign-key <key>', 'its partner_foreign_key: the partner’s own key for it')
    .option('--private', 'show it only in the reports of its owner (default: public)')
    .changes(async ({ attributes }, { private: isPrivate, ...options }: CreateOptions) => {
      const made = await attributes.create({ ...options, isPrivate });
      return outcomeOf(made);
    });
  add(
    attribute,
    'import',
    'create many attributes from a CSV file with the columns name and, optionally, foreign key; warns about duplicate names',
  )
    .argument('<file>', 'the file, or - for standard input')
    .requiredOption('--partner <id>', 'the partner that owns them')
    .option('--private', 'show them only in the reports of their owner (default: public)')
    .changes(async (stores, file: string, options: { partner: string; private?: true }) => {
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
    });
  add(attribute, 'list', 'list the attributes of a partner')
    .requiredOption('--partner <id>', 'the partner')
    .reads(async ({ partners, attributes }, options: { partner: string }) => {
      await partners.find(options.partner);
      const all = await attributes.list(options.partner);
      return { json: all.map(attributeRecord), text: attributeLines(all) };
    });
  add(attribute, 'associate', 'set the foreign key of an attribute; it cannot be changed later')
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .requiredOption('--foreign-key <key>', 'its partner_foreign_key: the partner’s own key for it')
    .changes(async ({ attributes }, options: { attribute: number; foreignKey: string }) => {
      return outcomeOf(await attributes.associate(options.attribute, options.foreignKey));
    });

  add(attribute, 'rename', 'change the display name of an attribute')
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .requiredOption('--name <name>', 'its new name', displayName)
    .changes(async ({ attributes }, options: { attribute: number; name: string }) => {
      const renamed = await attributes.rename({ id: options.attribute }, options.name);
      if (!renamed) throw unknown(options.attribute);
      return outcomeOf(renamed);
    });

  add(
    attribute,
    'delete',
    'permanently delete an attribute and its data; its id and foreign key are never reused',
  )
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .confirms(({ attribute }) => `Delete attribute ${attribute} and all of its data permanently?`)
    .changes(async (context, { attribute: id }: { attribute: number }) => {
      const deleted = await context.attributes.hide({ id });
      if (!deleted) throw unknown(id);
      // Loads the Kafka client, which no other command here needs.
      const { acceptJob } = await import('../accept-job.ts');
      const job = await acceptJob(context, deletionOf(deleted.partner, id));
      await context.attributes.deletionQueued(id, job._id);
      return {
        json: { attribute_id: id, import_log_id: job._id },
        text: [`attribute ${id} is deleted; job ${job._id} deletes its data`],
        partner: deleted.partner,
      };
    });

  add(attribute, 'visibility', 'make an attribute public or private, effective immediately')
    .requiredOption('--attribute <id>', 'the attribute', wholeNumber)
    .addOption(
      new Option('--public', 'show it in the reports of every partner and customer').conflicts('private'),
    )
    .option('--private', 'show it only in the reports of its owner')
    .hook('preAction', (command) => {
      const options = command.opts<{ public?: true; private?: true }>();
      if (!options.public && !options.private) command.error('error: expected --public or --private');
    })
    .changes(async ({ attributes }, { attribute: id, ...options }: { attribute: number; private?: true }) => {
      const changed = await attributes.setVisibility({ id }, options.private ? 'private' : 'public');
      if (!changed) throw unknown(id);
      return outcomeOf(changed);
    });
}
