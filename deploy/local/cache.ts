/**
 * The cache of downloaded servers, outside the checkout and shared by all clones. A download goes to a temporary folder that is
 * renamed when it is complete, so an interrupted one leaves nothing that a later start could mistake for a server.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from './lock.ts';
import type { Report } from './start-error.ts';

export interface Download {
  /** Includes the version, so that each version has a folder of its own. */
  readonly folder: string;
  readonly title: string;
  /** About how much it fetches, and the folder below its directory where that arrives first. */
  readonly size?: { readonly bytes: number; readonly folder: string };
  /** Throws a StartError when a tool is missing; called only if there is something to download. */
  checkTools(): void;
  fetchInto(directory: string, signal: AbortSignal): Promise<void>;
}

const REPORT_MS = 5_000;
const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;

/** What the files of a folder take on the disk, without those that vanish meanwhile; 0 if the folder vanishes. */
export function sizeOfFolder(folder: string): number {
  const sizeOf = (name: string) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found?.isFile() ? found.blocks * 512 : 0;
  };
  try {
    const names = readdirSync(folder, { recursive: true }) as string[];
    return names.reduce((sum, name) => sum + sizeOf(name), 0);
  } catch {
    return 0;
  }
}

/** `42 MB of 71 MB (59%)`; never 100% before the end, because the total may be an estimate. */
export const arrivedText = (arrived: number, total: number): string =>
  `${megabytes(Math.min(arrived, total))} of ${megabytes(total)} (${Math.min(99, Math.floor((100 * arrived) / total))}%)`;

/** Reports how much of a download has arrived until the returned function is called. */
export function reportArrival(what: string, arrived: () => string, report: Report): () => void {
  const timer = setInterval(() => report(`${what}: ${arrived()}`), REPORT_MS);
  return () => clearInterval(timer);
}

function cacheDirectory(): string {
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
    const { title, size } = download;
    report(`downloading ${title}${size ? `, ${megabytes(size.bytes)}` : ''} (first start only)`);
    const arrived = () =>
      size ? arrivedText(sizeOfFolder(join(directory, size.folder)), size.bytes) : `${seconds()} s`;
    const stopReporting = reportArrival(`downloading ${title}`, arrived, report);
    try {
      await download.fetchInto(directory, signal);
      renameSync(directory, target);
      report(`downloaded ${title} in ${seconds()} s`);
    } finally {
      stopReporting();
      rmSync(directory, { recursive: true, force: true });
    }
  };
  await withLock(`${target}.lock`, fetchOnce, {
    onWait: (holder) => report(`waiting for process ${holder.pid}, which is downloading ${download.title}`),
    signal,
  });
  return target;
}
