/** `headrace attribute …`: the partner's marketplace attributes. */
import type { Command } from 'commander';
import { attributePath, listRecords } from '../../../../api/client/client.ts';
import type { Attribute } from '../../../../api/client/types.ts';
import { printable } from '../../../../pipeline/runtime/terminal.ts';
import { between, wholeNumber } from '../../parse-options.ts';
import { type Columns, listLines, none, when } from '../../show.ts';
import { addCommand, addGroup, withFollow } from '../subcommands.ts';
import { type Submitted, tellSubmitted } from '../submit-import.ts';

const DEFAULT_LIMIT = 100;
const id = ['<id>', 'attribute_id', wholeNumber] as const;

const columns: Columns<Attribute> = {
  ID: ({ attribute_id }) => String(attribute_id),
  DEVICES: ({ devices }) => devices,
  VISIBILITY: ({ visibility }) => visibility,
  CREATED: ({ created_at }) => when(created_at),
  'FOREIGN KEY': ({ partner_foreign_key: key }) => (key === null ? none : printable(key)),
  NAME: ({ name }) => printable(name),
};

export function register(program: Command): void {
  const group = addGroup(program, 'attribute', 'list, rename and delete your marketplace attributes');

  addCommand(group, 'list', 'list attributes with their ids, foreign keys and sizes, newest first')
    .option('--limit <n>', 'maximum number to list, newest first', between(1, 1_000_000), DEFAULT_LIMIT)
    .runs(async ({ api, print, colours }, options: { limit: number }) => {
      const attributes = await listRecords<Attribute>(api, attributePath, options);
      await print(attributes, () => listLines(attributes, columns, colours));
    });

  addCommand(group, 'rename', 'rename an attribute')
    .argument(...id)
    .argument('<name>', 'its new name')
    .runs(async ({ api, print }, attribute: number, name: string) => {
      await api.change('PATCH', `${attributePath}/${attribute}`, { name });
      await print({ attribute_id: attribute, name }, () => [
        `attribute ${attribute} is now named ${printable(name)}`,
      ]);
    });

  withFollow(addCommand(group, 'delete', 'permanently delete an attribute with its data'))
    .argument(...id)
    .confirms((attribute) => `Delete attribute ${attribute} and all of its data permanently?`)
    .runs(async (context, attribute: number, options: { follow?: boolean }) => {
      const { data } = await context.api.change<Submitted>('DELETE', `${attributePath}/${attribute}`);
      context.say(`attribute ${attribute} is deleted; job ${data.import_log_id} deletes its data`);
      await tellSubmitted(context, [data], options.follow);
    });
}
