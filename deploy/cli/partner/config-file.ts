/** ~/.config/headrace/config.toml: the profiles of `headrace login`. Readable only by its owner, because it has secrets. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { CommandError, exitCodes } from './exit-codes.ts';

type Profile = Record<string, string>;
interface ConfigFile {
  default?: string;
  profiles: Record<string, Profile>;
}

export const configPath = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'headrace', 'config.toml');

const unreadable = (reason: string) =>
  new CommandError(exitCodes.failed, 'bad_config_file', `${configPath()}: ${reason}`);

function checked(table: Record<string, unknown>): Partial<ConfigFile> {
  const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const { default: chosen, profiles = {} } = table;
  if (chosen !== undefined && typeof chosen !== 'string')
    throw unreadable('default must be the name of a profile');
  if (!isTable(profiles)) throw unreadable('profiles must be a table');
  for (const [name, profile] of Object.entries(profiles as object)) {
    if (!isTable(profile)) throw unreadable(`profiles.${name} must be a table`);
    for (const [key, value] of Object.entries(profile))
      if (typeof value !== 'string') throw unreadable(`profiles.${name}.${key} must be a string`);
  }
  return table;
}

export function readConfigFile(): ConfigFile {
  try {
    return { profiles: {}, ...checked(parse(readFileSync(configPath(), 'utf8'))) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} };
    if (error instanceof CommandError) throw error;
    throw unreadable((error as Error).message);
  }
}

/** Atomic: writes a new file, then renames it. */
export function writeConfigFile(file: ConfigFile): void {
  const path = configPath();
  const unfinished = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(unfinished, `${stringify(file)}\n`, { mode: 0o600 });
    // A leftover file may have more permissions; the mode applies only to new files.
    chmodSync(unfinished, 0o600);
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw unreadable((error as Error).message);
  }
}
