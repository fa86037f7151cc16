/**
 * The cache of downloaded servers, outside the checkout and shared by all clones. A download goes to a temporary folder that is
 * renamed when it is complete, so an interrupted one leaves nothing that a later start could mistake for a server.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from './lock.ts';
import type { Report } from './start-error.ts';

export interface Download {
  /** Includes the version, so that each version has a folder of its own. */
  readonly folder: string;
  readonly title: string;
  /** Throws a StartError when a tool is missing; called only if there is something to download. */
  checkTools(): void;
  fetchInto(directory: string, signal: AbortSignal): Promise<void>;
}

export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'headrace');
}

export function checkTools(download: Download): void {
  if (!existsSync(join(cacheDirectory(), download.folder))) download.checkTools();
}

export async function cached(download: Download, report: Report, signal: AbortSignal): Promise<string> {
  const cache = cacheDirectory();
  const target = join(cache, download.folder);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const partial = `${download.folder}.partial-`;
  const fetchOnce = async () => {
    if (existsSync(target)) return;
    // We hold the lock, so the processes that left these are gone.
    for (const name of readdirSync(cache)) {
      if (name.startsWith(partial)) rmSync(join(cache, name), { recursive: true, force: true });
    }
    const directory = mkdtempSync(join(cache, partial));
    const since = Date.now();
    const seconds = () => Math.round((Date.now() - since) / 1000);
    report(`downloading ${download.title} (first start only)`);
    const ticking = setInterval(() => report(`downloading ${download.title}: ${seconds()} s`), 15_000);
    try {
      await download.fetchInto(directory, signal);
      renameSync(directory, target);
      report(`downloaded ${download.title} in ${seconds()} s`);
    } finally {
      clearInterval(ticking);
      rmSync(directory, { recursive: true, force: true });
    }
  };
  await withLock(`${target}.lock`, fetchOnce, {
    onWait: (holder) => report(`waiting for process ${holder.pid}, which is downloading ${download.title}`),
    signal,
  });
  return target;
}
