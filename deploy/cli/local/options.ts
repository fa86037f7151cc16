/** Options that commands of the local stack share. */
import { InvalidArgumentError } from 'commander';
import { defaultState } from '../environment.ts';
import { between } from '../parse-options.ts';

const gigabytes = (text: string) => {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0.25 && number <= 10_000) return number;
  throw new InvalidArgumentError('expected gigabytes, 0.25 or more');
};

export const stateOption = ['--state <dir>', 'state folder: data, logs, secrets', defaultState] as const;
export const portOption = [
  '--port <n>',
  'port of the API; 0: any (default: 8080, or a free one)',
  between(0, 65_535),
] as const;
export const cacheOption = [
  '--mongod-cache-gb <n>',
  "size of mongod's cache, shared by all members (default: a quarter of the machine's memory)",
  gigabytes,
] as const;
