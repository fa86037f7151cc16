/** Serves the CLI that partners install, which deploy/build-cli.mjs wrote beside the compiled service. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Operation, read } from '../../http/operation.ts';
import { json, tagged } from '../../http/responses.ts';
import { gzipped, once, sendFile } from '../../http/static-file.ts';

const directory = new URL('./cli/', import.meta.url);

async function readCli() {
  try {
    const [plain, checksum] = await Promise.all([
      readFile(new URL('headrace', directory)),
      readFile(new URL('headrace.sha256', directory), 'utf8'),
    ]);
    const etag = `W/"${checksum.split(' ')[0]}"`;
    const bodies = { identity: plain, gzip: await gzipped(plain) };
    return { checksum, file: { type: 'text/javascript', etag, bodies } };
  } catch (cause) {
    throw new Error('the CLI is not built: run the API with deploy/headrace.mjs, which compiles it', {
      cause,
    });
  }
}

const open = { tag: 'Service', access: 'public' } as const;
const version = {
  'X-Headrace-Version': {
    description: 'The version that `headrace --version` prints',
    schema: { type: 'string' as const },
  },
};

export function cliOperations(): Operation[] {
  const files = once(readCli);

  const download = read({
    ...open,
    path: '/cli',
    operationId: 'getCli',
    summary: 'The command line for partners',
    description:
      'One JavaScript file without dependencies, for Node 20.19 or newer. The introduction shows how to install it.',
    responses: tagged(json(z.string(), 'The file', { type: 'text/javascript', headers: version })),
    async handle(ctx) {
      ctx.set({
        'Cache-Control': 'no-cache',
        'Content-Disposition': 'attachment; filename="headrace"',
        'X-Content-Type-Options': 'nosniff',
        'X-Headrace-Version': packageJson.version,
      });
      sendFile(ctx, (await files()).file);
    },
  });

  const checksum = read({
    ...open,
    path: '/cli/sha256',
    operationId: 'getCliChecksum',
    summary: 'Its SHA-256 checksum',
    description: 'In the form that `sha256sum -c` reads.',
    responses: { 200: json(z.string(), 'The checksum', { type: 'text/plain' }) },
    async handle(ctx) {
      ctx.set('Cache-Control', 'no-cache');
      ctx.type = 'text/plain';
      ctx.body = (await files()).checksum;
    },
  });

  return [download, checksum];
}
