/** `headrace login`: asks for the keys, checks them, and saves them in a profile. */

import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { importPath } from '../../../../api/client/client.ts';
import { configPath, readConfigFile, writeConfigFile } from '../config-file.ts';
import { connectApi } from '../connect-api.ts';
import { interruption, usageError } from '../exit-codes.ts';
import type { CommandContext } from '../run-command.ts';
import {
  descriptionOf,
  givenSettings,
  type SettingName,
  type Settings,
  secretSettings,
  settingNames,
  withStorage,
} from '../settings.ts';
import { addCommand } from '../subcommands.ts';

const DEFAULT_PROFILE = 'default';
const asked: SettingName[] = ['api_url', 'api_key', 'storage_url'];
/** Needed only for uploads. */
const askedForStorage: SettingName[] = settingNames.filter(
  (name) => name.startsWith('storage_') && name !== 'storage_url',
);
const optional: SettingName[] = ['storage_url', 'storage_endpoint', 'storage_region'];

async function ask(name: SettingName, previous: string | undefined, signal: AbortSignal): Promise<string> {
  const { password, text, isCancel } = await import('@clack/prompts');
  const isOptional = optional.includes(name);
  const common = {
    message: `${name}: ${descriptionOf(name)}${isOptional ? ' (optional)' : ''}`,
    output: process.stderr,
    signal,
  };
  const validate = (value: string | undefined) => (value || isOptional ? undefined : 'Required.');
  const answer = secretSettings.has(name)
    ? await password({ ...common, mask: '', validate })
    : await text({ ...common, initialValue: previous, validate });
  if (isCancel(answer)) throw interruption('interrupted; nothing was saved');
  return answer?.trim() ?? '';
}

/** The output of `headrace admin partner create --json`, or just the API key. */
function readIssued(input: string): Settings {
  if (!input.trimStart().startsWith('{')) return { api_key: input.trim() };
  try {
    const { api_key, s3 } = JSON.parse(input);
    return {
      api_key,
      storage_url: `s3://${s3.bucket}/${s3.prefix}`,
      storage_endpoint: s3.endpoint,
      storage_region: s3.region,
      storage_access_key_id: s3.access_key_id,
      storage_secret_access_key: s3.secret_access_key,
    };
  } catch {
    throw usageError(
      'standard input must be an API key or the output of headrace admin partner create --json',
    );
  }
}

async function complete(given: Settings, previous: Settings, signal: AbortSignal): Promise<Settings> {
  const settings: Settings = { ...given };
  const askMissing = async (names: SettingName[]) => {
    for (const name of names) settings[name] ??= await ask(name, previous[name], signal);
  };
  await askMissing(asked);
  if (settings.storage_url !== '') await askMissing(askedForStorage);
  return settings;
}

async function tryKeys(settings: Settings, signal: AbortSignal): Promise<void> {
  const { api_url, api_key } = settings;
  await connectApi({ api_url, api_key }, signal).get(`${importPath}?limit=1`);
  if (settings.storage_url === undefined) return;
  const { checkStorage } = await import('../storage.ts');
  await checkStorage(settings, signal);
}

async function login(context: CommandContext, options: Record<string, unknown>): Promise<void> {
  const { signal } = context;
  const profile = (options.profile as string | undefined) || DEFAULT_PROFILE;
  const issued = options.stdin ? readIssued(await readAll(process.stdin)) : {};
  const given = { ...issued, ...givenSettings(options) };
  const isAsking = process.stdin.isTTY && !options.stdin;
  const before = readConfigFile();
  const answers = isAsking ? await complete(given, before.profiles[profile] ?? {}, signal) : given;
  const settings = Object.fromEntries(
    Object.entries(answers).filter(([, value]) => value !== ''),
  ) as Settings;
  await tryKeys(settings, signal);
  writeConfigFile({
    ...before,
    default: profile,
    profiles: { ...before.profiles, [profile]: settings as Record<string, string> },
  });
  const storage = settings.storage_url ?? null;
  await context.print(
    { profile, config: configPath(), api_url: settings.api_url, storage_url: storage },
    () => [
      `logged in to ${settings.api_url}${storage ? `, uploads go to ${storage}` : ''}`,
      `saved as profile ${profile} in ${configPath()}`,
    ],
  );
}

export function register(program: Command): void {
  withStorage(addCommand(program, 'login', 'check an API key and storage keys and save them in a profile'))
    .option('--stdin', 'read the API key, or the JSON of admin partner create, from standard input')
    .runs((context, options: Record<string, unknown>) => login(context, options));
}
