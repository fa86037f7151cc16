/** `headrace attribute …`: the partner's marketplace attributes. */
import type { Command } from 'commander';
import { attributePath, listRecords } from '../../../../api/client/client.ts';
import { count } from '../../../../api/client/format.ts';
import type { Attribute } from '../../../../api/client/types.ts';
import { type Paint, printable, table } from '../../../../pipeline/runtime/terminal.ts';
import { confirmFirst, yesOption } from '../../confirm.ts';
import { between, wholeNumber } from '../../parse-options.ts';
import { heading, none, when } from '../../show.ts';
import { runCommand } from '../run-command.ts';
import { addCommand, addGroup, withFollow } from '../subcommands.ts';
import { type Submitted, tellSubmitted } from '../submit-import.ts';

const DEFAULT_LIMIT = 100;
const id = ['<id>', 'attribute_id', wholeNumber] as const;

function attributeLines(attributes: readonly Attribute[], colours: Paint): string[] {
  const rows = attributes.map((attribute) => [
    String(attribute.attribute_id),
    count(attribute.devices),
    attribute.visibility,
    when(attribute.created_at),
    attribute.partner_foreign_key === null ? none : printable(attribute.partner_foreign_key),
    printable(attribute.name),
  ]);
  return table(
    [heading(['ID', 'DEVICES', 'VISIBILITY', 'CREATED', 'FOREIGN KEY', 'NAME'], colours), ...rows],
    [0, 1],
  );
}

export function register(program: Command): void {
  const group = addGroup(program, 'attribute', 'list, rename and delete your marketplace attributes');

  addCommand(group, 'list', 'list attributes with their ids, foreign keys and sizes, newest first')
    .option('--limit <n>', 'maximum number to list, newest first', between(1, 1_000_000), DEFAULT_LIMIT)
    .action((options: { limit: number }, command: Command) =>
      runCommand(command, async ({ api, print, colours }) => {
        const attributes = await listRecords<Attribute>(api, attributePath, options);
        await print(attributes, () => attributeLines(attributes, colours));
      }),
    );

  addCommand(group, 'rename', 'rename an attribute')
    .argument(...id)
    .argument('<name>', 'its new name')
    .action((attribute: number, name: string, _options: object, command: Command) =>
      runCommand(command, async ({ api, print }) => {
        await api.change('PATCH', `${attributePath}/${attribute}`, { name });
        await print({ attribute_id: attribute, name }, () => [
          `attribute ${attribute} is now named ${printable(name)}`,
        ]);
      }),
    );

  withFollow(addCommand(group, 'delete', 'permanently delete an attribute with its data'))
    .argument(...id)
    .option(...yesOption)
    .action((attribute: number, options: { follow?: boolean }, command: Command) =>
      runCommand(command, async (context) => {
        await confirmFirst(command, `Delete attribute ${attribute} and all of its data permanently?`);
        const { data } = await context.api.change<Submitted>('DELETE', `${attributePath}/${attribute}`);
        context.say(`attribute ${attribute} is deleted; job ${data.import_log_id} deletes its data`);
        await tellSubmitted(context, [data], options.follow);
      }),
    );
}
