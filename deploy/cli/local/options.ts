/** Options that commands of the local stack share. */
import { InvalidArgumentError } from 'commander';
import { defaultState } from '../environment.ts';

const gigabytes = (text: string) => {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0.25 && number <= 10_000) return number;
  throw new InvalidArgumentError('expected gigabytes, 0.25 or more');
};
const portNumber = (text: string) => {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('expected a port from 0 (any) to 65535');
};

export const stateOption = ['--state <dir>', 'state folder: data, logs, secrets', defaultState] as const;
export const portOption = [
  '--port <n>',
  'port of the API (default: 8080, or a free one)',
  portNumber,
] as const;
export const cacheOption = [
  '--mongod-cache-gb <n>',
  "size of mongod's cache, shared by all members (default: a quarter of the machine's memory)",
  gigabytes,
] as const;
