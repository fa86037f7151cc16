/** `--upload`: uploads local files and folders below the partner's prefix, and returns the path to submit. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { bytes, duration, plural } from '../../../api/client/format.ts';
import { between } from '../parse-options.ts';
import { bar, joined } from '../progress-line.ts';
import { interruption } from './exit-codes.ts';
import { collectFiles, type LocalFile } from './local-files.ts';
import type { CommandContext } from './run-command.ts';
import { withStorage } from './settings.ts';

export interface UploadFlags {
  upload?: boolean;
  to?: string;
  parallel: number;
}

const DEFAULT_PARALLEL = 8;

export const withUpload = <C extends Command>(command: C): C =>
  withStorage(
    command
      .option('--upload', 'first upload these local files and folders with your storage keys')
      .option('--to <folder>', 'folder below your prefix to upload to (default: a new one)')
      .option('--parallel <n>', 'parallel uploads', between(1, 64), DEFAULT_PARALLEL),
  );

/** A new folder per upload, so that it has exactly these files and none changes while it is read. */
export const newFolder = (parent: string): string =>
  `${parent}/${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}/`;

async function send(
  context: CommandContext,
  files: readonly LocalFile[],
  to: string,
  atOnce: number,
): Promise<void> {
  // Lazy: the storage client is large, and most commands do not need it.
  const [{ connectStorage }, { uploadFiles }] = await Promise.all([
    import('./storage.ts'),
    import('./upload-files.ts'),
  ]);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const since = performance.now();
  let sent = 0;
  let done = 0;
  const show = () => {
    const seconds = (performance.now() - since) / 1_000;
    const left = sent > 0 && seconds > 1 ? `about ${duration(((total - sent) * seconds) / sent)} left` : '';
    const work = `${done} of ${plural(files.length, 'file')}`;
    context.progress.show(
      joined(
        `uploading  ${bar(total > 0 ? sent / total : 1)}`,
        work,
        `${bytes(sent)} of ${bytes(total)}`,
        left,
      ),
    );
  };
  const place = connectStorage(context.settings);
  try {
    await uploadFiles(place, files, {
      to,
      atOnce,
      signal: context.signal,
      onBytes(count) {
        sent += count;
        show();
      },
      onFile() {
        done++;
        show();
      },
    });
    context.progress.settle(`uploaded ${plural(files.length, 'file')}, ${bytes(total)}, to ${to}`);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    throw interruption(`interrupted; nothing was submitted (${plural(done, 'file')} uploaded to ${to})`);
  } finally {
    context.progress.clear();
    place.s3.destroy();
  }
}

/** Returns the path to submit. */
export async function upload(
  context: CommandContext,
  paths: readonly string[],
  { to = newFolder('uploads'), parallel }: UploadFlags,
): Promise<string> {
  const folder = to.endsWith('/') ? to : `${to}/`;
  const files = collectFiles(paths, folder);
  await send(context, files, folder, parallel);
  return files.length === 1 ? folder + files[0]!.name : folder;
}

/** The paths to submit: as given, or the folder they were uploaded to. */
export async function sourcesOf(
  context: CommandContext,
  given: string[],
  options: UploadFlags,
): Promise<string[]> {
  if (options.upload) return [await upload(context, given, options)];
  for (const path of given)
    if (existsSync(path))
      context.say(`${path} is read from the storage; to load your local file, add --upload`);
  return given;
}
