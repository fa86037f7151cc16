import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { type ApiClient, listRecords } from '../../api/client/client.ts';
import type { RejectedRow } from '../../api/client/types.ts';
import { duration } from '../../deploy/cli/parse-options.ts';
import { linesToCorrect } from '../../deploy/cli/partner/rejected-rows.ts';
import { placeOf } from '../../deploy/cli/partner/storage.ts';

const cli = fileURLToPath(new URL('../../deploy/cli', import.meta.url));
/** Without `completion`: it lists all commands, so it loads them. */
const entryPoints = (readdirSync(cli, { recursive: true }) as string[]).filter((name) =>
  /^(?:partner|load)\/commands\/(?!completion)/.test(name),
);

it('starts without a driver, the storage client and the schemas: they load when they are needed', async () => {
  const { metafile } = await build({
    entryPoints: entryPoints.map((name) => join(cli, name)),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    write: false,
    metafile: true,
    outdir: 'unused',
  });
  const atStart = new Set<string>();
  const visit = (output: string) => {
    if (atStart.has(output)) return;
    atStart.add(output);
    for (const { path, kind } of metafile.outputs[output]!.imports)
      if (kind === 'import-statement' && path in metafile.outputs) visit(path);
  };
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs))
    if (entryPoint?.includes('/commands/')) visit(output);
  const inputs = [...atStart].flatMap((output) => Object.keys(metafile.outputs[output]!.inputs));
  const packages = new Set(
    inputs.flatMap((input) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []),
  );
  expect([...packages].sort()).toEqual(['commander', 'smol-toml']);
});

async function* each<T>(items: T[]) {
  yield* items;
}
const rejected = (raw: string, more: Partial<RejectedRow> = {}): RejectedRow => ({
  file: 'p/x.csv',
  line: 1,
  code: 'bad_identifier',
  raw,
  ...more,
});

it('rows to correct have a header with their delimiter; those that are not whole are left out and counted', async () => {
  const counts = { rows: 0, truncated: 0, omitted: 0 };
  const lines: string[] = [];
  const rows = [rejected('begins;', { truncated: true }), rejected('x;17'), rejected('y;17', { omitted: 3 })];
  for await (const line of linesToCorrect(each(rows), counts)) lines.push(line);
  expect(lines).toEqual(['device_id;key\nx;17\n', 'y;17\n']);
  expect(counts).toEqual({ rows: 2, truncated: 1, omitted: 3 });
});

it('a list goes on over pages until there are enough', async () => {
  const asked: string[] = [];
  const all = Array.from({ length: 2_500 }, (_, n) => n);
  const get = async (path: string) => {
    asked.push(path);
    const query = new URL(path, 'http://x').searchParams;
    const [from, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit'))];
    const next = from + limit < all.length ? String(from + limit) : null;
    return { data: all.slice(from, from + limit), location: null, next };
  };
  const api = { get } as unknown as ApiClient;
  expect(await listRecords(api, '/list', { limit: 2_200 })).toEqual(all.slice(0, 2_200));
  expect(asked).toEqual(['/list?limit=1000', '/list?limit=1000&cursor=1000', '/list?limit=200&cursor=2000']);
  expect(await listRecords(api, '/list', { limit: 9_999, status: 2, search: 'a b' })).toHaveLength(2_500);
  expect(asked.at(-1)).toBe('/list?limit=1000&status=2&search=a+b&cursor=2000');
});

it('durations and places', () => {
  expect(['90', '90s', '5m', '2h'].map(duration)).toEqual([90_000, 90_000, 300_000, 7_200_000]);
  expect(() => duration('soon')).toThrow('90s, 5m or 2h');
  expect(placeOf('s3://b/p')).toEqual({ bucket: 'b', prefix: 'p/' });
  expect(placeOf('s3://b/p/q/')).toEqual({ bucket: 'b', prefix: 'p/q/' });
  expect(placeOf('s3://b')).toEqual({ bucket: 'b', prefix: '' });
  expect(() => placeOf('b/p/')).toThrow('s3://<bucket>/<prefix>/');
});
