/** Addresses and keys of the service and the storage: from flags, then the environment, then a profile. */
import { type Command, Option } from 'commander';
import { type ClientVariable, clientVariables } from '../../../schemas/client-variables.ts';
import { readConfigFile } from './config-file.ts';
import { CommandError, exitCodes, usageError } from './exit-codes.ts';

interface Setting {
  flag: string;
  variable: ClientVariable;
  description: string;
  isSecret?: true;
}

/** By their names in a profile. */
const connectionSettings = {
  api_url: {
    flag: '--api-url <url>',
    variable: clientVariables.apiUrl,
    description: 'address of the service',
  },
  api_key: {
    flag: '--api-key <key>',
    variable: clientVariables.apiKey,
    description: 'API key',
    isSecret: true,
  },
  user_token: {
    flag: '--user-token <token>',
    variable: clientVariables.userToken,
    description: 'act on behalf of this customer (audiences only)',
    isSecret: true,
  },
} as const satisfies Record<string, Setting>;

const storageSettings = {
  storage_url: {
    flag: '--storage-url <s3://bucket/prefix/>',
    variable: clientVariables.storageUrl,
    description: 'your bucket and prefix',
  },
  storage_endpoint: {
    flag: '--storage-endpoint <url>',
    variable: clientVariables.storageEndpoint,
    description: 'address of the storage (default: AWS)',
  },
  storage_region: {
    flag: '--storage-region <region>',
    variable: clientVariables.storageRegion,
    description: 'region of the bucket (default: us-east-1)',
  },
  storage_access_key_id: {
    flag: '--storage-access-key-id <id>',
    variable: clientVariables.storageAccessKeyId,
    description: 'your storage access key',
  },
  storage_secret_access_key: {
    flag: '--storage-secret-access-key <secret>',
    variable: clientVariables.storageSecretAccessKey,
    description: 'its secret',
    isSecret: true,
  },
} as const satisfies Record<string, Setting>;

export const allSettings = { ...connectionSettings, ...storageSettings };
export type SettingName = keyof typeof allSettings;
export type Settings = Partial<Record<SettingName, string>>;
export const settingNames = Object.keys(allSettings) as SettingName[];

const optionName = (name: SettingName) => new Option(allSettings[name].flag).attributeName();

function addSettings<C extends Command>(command: C, settings: Record<string, Setting>, heading: string): C {
  for (const { flag, variable, description } of Object.values(settings))
    command.addOption(new Option(flag, description).env(variable).helpGroup(heading));
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

const howToSet = ({ flag, variable }: Setting) =>
  `run headrace login, set ${variable}, or use ${flag.split(' ')[0]}`;

export function required(settings: Settings, name: SettingName): string {
  const value = settings[name];
  if (value !== undefined) return value;
  throw new CommandError(
    exitCodes.notAuthorized,
    'not_logged_in',
    `no ${name}: ${howToSet(allSettings[name])}`,
  );
}
