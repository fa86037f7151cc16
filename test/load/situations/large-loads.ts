/** A large load of partner A: many rows, many files, or one compressed file. */
import { createWriteStream, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createGenerator, type Generator } from '../../../deploy/cli/load/generate.ts';
import { spaces } from '../../../schemas/documents.ts';
import type { Bench } from '../bench-stack.ts';
import { checkAudience, checkImport, checkSpace } from '../check-counts.ts';
import { count } from '../format.ts';
import { uploadManyFiles } from '../scenarios/many-files.ts';
import { createUploader, uploadPrefix } from '../upload.ts';
import { repeated, type Situation, type Work } from './situation.ts';

const ROWS_PER_FILE = 500_000;
const MIN_FILES = 8;
const ATTRIBUTES = 20;
const everyMs = 100;
const events = ['visit', 'install', 'purchase', 'seen'];

const filesFor = (rows: number) => Math.max(MIN_FILES, Math.ceil(rows / ROWS_PER_FILE));

/** Every run loads the same files into a new audience. */
function loadedAgain({ stack, signal }: Bench, path: string, generator: Generator): Work {
  const { rows, devices } = generator.counts();
  return repeated(async () => {
    const { record, seconds } = await stack.calls.load('b', path, false, { everyMs, signal });
    return { seconds, checks: checkAudience(record, rows, devices) };
  });
}

export const rows: Situation = {
  name: 'rows',
  size: 12_000_000,
  describe: (size) => `an audience of ${count(size)} rows`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const generator = createGenerator({ seed, duplicates: 0.2, keys: events });
    await uploadPrefix(bench, generator, { prefix: 'rows/', rows: size, files: filesFor(size), gzip: false });
    return loadedAgain(bench, 'rows/', generator);
  },
};

/** Runs beside B; A's runs alone come on top. Each run has its own rows, because merging known devices is faster. */
const IMPORTS_BESIDE = 2;
const IMPORTS = IMPORTS_BESIDE + 2;

export const imports: Situation = {
  name: 'imports',
  size: 4_000_000,
  describe: (size) => `imports of ${count(size)} rows`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const { stack, signal } = bench;
    const keys = (await stack.attributes(ATTRIBUTES)).map(String);
    const generator = createGenerator({ seed, duplicates: 0, keys });
    for (let number = 0; number < IMPORTS; number++) {
      const prefix = `imports/${number}/`;
      await uploadPrefix(bench, generator, { prefix, rows: size, files: filesFor(size), gzip: false });
    }
    let done = 0;
    return repeated(
      async (number) => {
        const path = `imports/${number}/`;
        const { record, seconds } = await stack.calls.load('a', path, false, { everyMs, signal });
        done++;
        return { seconds, checks: checkImport(record, size, size) };
      },
      {
        maxRuns: IMPORTS_BESIDE,
        check: async (others) => [await checkSpace(stack.db, spaces.marketplace, done * size + others)],
      },
    );
  },
};

export const files: Situation = {
  name: 'files',
  size: 20_000,
  describe: (size) => `a prefix of ${count(size)} files of 10 rows`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const generator = createGenerator({ seed, duplicates: 0, keys: events });
    await uploadManyFiles(bench, generator, size);
    return loadedAgain(bench, 'many/', generator);
  },
};

const GZIP_ROWS = 50_000;

/** Writes rows until the compressed file has this size; zlib's buffers make it a little larger. */
async function writeGzip({ progress, signal }: Bench, to: string, bytes: number, generator: Generator) {
  const written = () => statSync(to, { throwIfNoEntry: false })?.size ?? 0;
  const rowsUntilFull = function* () {
    do {
      progress.live(`compressed ${count(written() / 1e6)} of ${count(bytes / 1e6)} MB`);
      yield generator.nextFile({ rows: GZIP_ROWS }).bytes;
    } while (written() < bytes);
  };
  // 6 is gzip's default level, and so what partners send.
  await pipeline(Readable.from(rowsUntilFull()), createGzip({ level: 6 }), createWriteStream(to), { signal });
  progress.step(`compressed ${generator.counts().rows} rows to ${(written() / 1e6).toFixed(1)} MB`);
}

export const gzip: Situation = {
  name: 'gzip',
  /** MB, compressed. */
  size: 100,
  describe: (size) => `an audience from one gzip file of ${count(size)} MB`,
  hasSpeed: true,
  async prepare({ bench, size, seed }) {
    const { stack, signal } = bench;
    const generator = createGenerator({ seed, duplicates: 0.2, keys: events });
    const local = join(stack.directory, 'large.csv.gz');
    await writeGzip(bench, local, size * 1e6, generator);
    const uploader = createUploader(stack.partner);
    await uploader.putLocal('gzip/large.csv.gz', local, signal);
    uploader.close();
    await rm(local);
    return loadedAgain(bench, 'gzip/large.csv.gz', generator);
  },
};
