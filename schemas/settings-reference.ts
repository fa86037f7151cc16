/** Every setting with its default and description, as an environment file. */
import type { z } from 'zod';
import { settingGroups } from './config.ts';

const WIDTH = 118;

function wrap(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < WIDTH) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`# ${word}`);
  }
  return lines;
}

/** The value as written in the environment: flags as 0 or 1, lists separated by commas. */
const written = (value: unknown) =>
  typeof value === 'boolean' ? String(Number(value)) : Array.isArray(value) ? value.join(',') : String(value);

function describeSetting(name: string, schema: z.ZodType): string[] {
  const { description, example, recommended } = schema.meta() ?? {};
  const preset = schema.safeParse(undefined);
  const value = recommended ?? (preset.data === undefined ? example : preset.data);
  const isOptional = preset.success && preset.data === undefined;
  return [...(description ? wrap(description) : []), `${isOptional ? '# ' : ''}${name}=${written(value)}`];
}

export function settingsReference(): string {
  const groups = Object.entries(settingGroups).map(([group, settings]) => [
    `# --- ${group} ${'-'.repeat(WIDTH - 7 - group.length)}`,
    ...Object.entries(settings).flatMap(([name, schema]) => describeSetting(name, schema)),
  ]);
  const head = [
    '# Every setting with its default, or the recommended value where the comment names another default.',
    '# Settings that are commented out are optional. A secret, password, key or HEADRACE_MONGO_URL can be in a file:',
    '# with HEADRACE_SECRET_FILE=/run/secrets/headrace, HEADRACE_SECRET is the content of that file.',
  ];
  return [head, ...groups].map((lines) => `${lines.join('\n')}\n`).join('\n');
}
