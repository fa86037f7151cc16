/** The files of the console, which deploy/build-console.mjs wrote beside the compiled service. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';

export interface ConsoleFile {
  readonly type: string;
  /** Weak, because it is the same for every encoding. */
  readonly etag: string;
  readonly bodies: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>;
}

export interface ConsoleFiles {
  readonly page: ConsoleFile;
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

async function readConsoleFile(url: URL): Promise<ConsoleFile> {
  const [identity, br, gzip] = await Promise.all([
    readFile(url),
    readFile(new URL(`${url}.br`)),
    readFile(new URL(`${url}.gz`)),
  ]);
  return {
    type: extname(url.pathname),
    etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    bodies: { br, gzip, identity },
  };
}

const notBuilt = (cause: unknown) =>
  new Error('the console is not built: run the API with deploy/headrace.mjs, which compiles it', { cause });

export async function readConsoleFiles(
  directory = new URL('./console/', import.meta.url),
): Promise<ConsoleFiles> {
  try {
    const folder = new URL('assets/', directory);
    const names = (await readdir(folder)).filter((name) => !/\.(br|gz)$/.test(name));
    const read = async (name: string) => [name, await readConsoleFile(new URL(name, folder))] as const;
    return {
      page: await readConsoleFile(new URL('index.html', directory)),
      assets: new Map(await Promise.all(names.map(read))),
    };
  } catch (error) {
    throw notBuilt(error);
  }
}
