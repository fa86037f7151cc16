/**
 * The cache of downloaded servers, outside the checkout and shared by all clones. A download goes to a temporary folder, which is
 * renamed when complete, so that a later start never uses an interrupted download.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from './lock.ts';
import type { Report } from './start-error.ts';

export interface Download {
  /** One per version. */
  readonly folder: string;
  readonly title: string;
  /** Estimated size of the download, and the folder below `directory` that it arrives in. `isBuilt`: compiled afterwards. */
  readonly size?: { readonly bytes: number; readonly folder: string; readonly isBuilt?: true };
  /** Throws a StartError if a tool is missing; called only if there is something to download. */
  checkTools(): void;
  fetchInto(directory: string, signal: AbortSignal): Promise<void>;
}

const REPORT_MS = 5_000;
/** Share of the estimated size from which a download counts as complete. */
const COMPLETE = 0.99;
const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;

/** Disk space of a folder's files. Files that vanish meanwhile count as 0. */
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

/** `42 MB of 71 MB (59%)`; at most 99%, because the total may be an estimate. */
export const arrivedText = (arrived: number, total: number): string =>
  `${megabytes(Math.min(arrived, total))} of ${megabytes(total)} (${Math.min(99, Math.floor((100 * arrived) / total))}%)`;

/** Reports the progress of a download until the returned function is called. */
export function reportArrival(progress: () => string, report: Report): () => void {
  const timer = setInterval(() => report(progress()), REPORT_MS);
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
    // Left by dead processes: we hold the lock.
    for (const name of readdirSync(cache)) {
      if (name.startsWith(partial)) rmSync(join(cache, name), { recursive: true, force: true });
    }
    const directory = mkdtempSync(join(cache, partial));
    const since = Date.now();
    const seconds = () => Math.round((Date.now() - since) / 1000);
    const { title, size } = download;
    report(`downloading ${title}${size ? `, ${megabytes(size.bytes)}` : ''} (first start only)`);
    const progress = () => {
      if (!size) return `downloading ${title}: ${seconds()} s`;
      const arrived = sizeOfFolder(join(directory, size.folder));
      return size.isBuilt && arrived >= COMPLETE * size.bytes
        ? `building ${title}`
        : `downloading ${title}: ${arrivedText(arrived, size.bytes)}`;
    };
    const stopReporting = reportArrival(progress, report);
    try {
      await download.fetchInto(directory, signal);
      renameSync(directory, target);
      report(`${size?.isBuilt ? 'built' : 'downloaded'} ${title} in ${seconds()} s`);
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
