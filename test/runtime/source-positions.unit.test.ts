/** Stack traces in the log refer to lines of the sources, although compiled files run. */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { withSourcePositions } from '../../pipeline/runtime/source-positions.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const source = `interface Nothing {}

export function fail(_: Nothing): never {
  throw new Error('failed');
}
`;

it('names the line of the source, and leaves what has none', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'fails.ts'), source);
  const compiled = join(folder, 'out', 'fails.cjs');
  await build({
    entryPoints: [join(folder, 'fails.ts')],
    outfile: compiled,
    bundle: true,
    format: 'cjs',
    minifyWhitespace: true,
    sourcemap: true,
    logLevel: 'error',
  });
  const { fail } = createRequire(import.meta.url)(compiled) as { fail(nothing: object): never };
  let error = new Error('did not fail');
  try {
    fail({});
  } catch (thrown) {
    error = thrown as Error;
  }
  expect(error.stack).toContain(`${compiled}:`);
  expect(withSourcePositions(error.stack!)).toMatch(/at fail \(fails\.ts:4:9\)/);
  const unknown = 'Error: x\n    at f (/nowhere/a.cjs:1:2)\n    at g (node:fs:1:2)';
  expect(withSourcePositions(unknown)).toBe(unknown);
});
