/** Addresses and keys of the service and the storage: from flags, then the environment, then a profile. */
import { type Command, Option } from 'commander';
import { clientVariables } from '../../../schemas/client-variables.ts';
import { readConfigFile } from './config-file.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';

type Described = readonly [value: string, description: string];

/** By their names in a profile: `api_url` is also `--api-url` and HEADRACE_API_URL. */
const connectionSettings = {
  api_url: ['<url>', 'address of the service'],
  api_key: ['<key>', 'API key'],
  user_token: ['<token>', 'act on behalf of this customer (audiences only)'],
} as const satisfies Record<string, Described>;

const storageSettings = {
  storage_url: ['<s3://bucket/prefix/>', 'your bucket and prefix'],
  storage_endpoint: ['<url>', 'address of the storage (default: AWS)'],
  storage_region: ['<region>', 'region of the bucket (default: us-east-1)'],
  storage_access_key_id: ['<id>', 'your storage access key'],
  storage_secret_access_key: ['<secret>', 'its secret'],
} as const satisfies Record<string, Described>;

const allSettings = { ...connectionSettings, ...storageSettings };
export type SettingName = keyof typeof allSettings;
export type Settings = Partial<Record<SettingName, string>>;
export const settingNames = Object.keys(allSettings) as SettingName[];
/** Hidden while they are typed. */
export const secretSettings: ReadonlySet<SettingName> = new Set([
  'api_key',
  'user_token',
  'storage_secret_access_key',
]);
export const descriptionOf = (name: SettingName): string => allSettings[name][1];

const flagOf = (name: string) => `--${name.replaceAll('_', '-')}`;
const variableOf = (name: string) => `HEADRACE_${name.toUpperCase()}`;
const optionName = (name: SettingName) => new Option(flagOf(name)).attributeName();

function addSettings<C extends Command>(command: C, settings: Record<string, Described>, heading: string): C {
  for (const [name, [value, description]] of Object.entries(settings))
    command.addOption(
      new Option(`${flagOf(name)} ${value}`, description).env(variableOf(name)).helpGroup(heading),
    );
  return command;
}

export const withProfile = <C extends Command>(command: C): C =>
  command.addOption(
    new Option('--profile <name>', 'profile of headrace login (default: the last one)')
      .env(clientVariables.profile)
      .helpGroup('Service:'),
  );

export const withConnection = <C extends Command>(command: C): C =>
  addSettings(withProfile(command), connectionSettings, 'Service:');

export const withStorage = <C extends Command>(command: C): C =>
  addSettings(command, storageSettings, 'Storage, to upload:');

/** Commander has read flags, then variables. Empty means absent. */
export function givenSettings(options: Record<string, unknown>): Settings {
  const given = settingNames.map((name) => [name, options[optionName(name)]] as const);
  return Object.fromEntries(given.filter(([, value]) => typeof value === 'string' && value !== ''));
}

/** The requested profile, otherwise the last one used, if any. */
export function profileOf(
  options: Record<string, unknown>,
): { name: string; settings: Settings } | undefined {
  const { default: last, profiles } = readConfigFile();
  const wanted = (options.profile as string | undefined) || undefined;
  const name = wanted ?? last;
  const settings = name === undefined ? undefined : profiles[name];
  if (wanted !== undefined && settings === undefined)
    throw usageError(`profile ${wanted} does not exist: create it with headrace login --profile ${wanted}`);
  return settings && { name: name!, settings };
}

export const resolveSettings = (options: Record<string, unknown>): Settings => ({
  ...profileOf(options)?.settings,
  ...givenSettings(options),
});

export function required(settings: Settings, name: SettingName): string {
  const value = settings[name];
  if (value !== undefined) return value;
  throw new CommandError(
    exitCodes.notAuthorized,
    'not_logged_in',
    `no ${name}: run headrace login, set ${variableOf(name)}, or use ${flagOf(name)}`,
  );
}
