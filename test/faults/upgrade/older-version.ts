/** An older version of the service, checked out in its own folder and ready to run. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '../../../deploy/local/child.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const lockOf = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8');

export interface OlderVersion {
  commit: string;
  /** Path of its `headrace` command. */
  program: string;
  remove(): void;
}

export async function checkOut(from: string): Promise<OlderVersion> {
  const commit = (await runTool('git', ['rev-parse', '--short', `${from}^{commit}`], { cwd: root })).trim();
  const folder = mkdtempSync(join(tmpdir(), `headrace-${commit}-`));
  const archive = join(folder, 'archive.tar');
  await runTool('git', ['archive', '--output', archive, commit], { cwd: root });
  await runTool('tar', ['-xf', archive, '-C', folder]);
  rmSync(archive);
  if (lockOf(folder) === lockOf(root)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else await runTool('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  const program = join(folder, 'deploy', 'headrace.mjs');
  // Compiles it.
  await runTool(process.execPath, [program, '--version'], { cwd: folder });
  return { commit, program, remove: () => rmSync(folder, { recursive: true }) };
}
