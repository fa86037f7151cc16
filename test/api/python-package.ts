/** Third-party Python packages: downloaded once with pip, into the cache of the servers. */
import { cached } from '../../deploy/local/cache.ts';
import { runTool } from '../../deploy/local/child.ts';
import { onPath } from '../../deploy/local/tools.ts';

const downloadMs = 500_000;
const report = (line: string) => void process.stderr.write(`  ${line}\n`);

interface PythonPackage {
  name: string;
  version: string;
  extras: string;
  /** A statement that fails unless the package works. */
  imports: string;
}

/** Returns the folder for the PYTHONPATH. */
export async function pythonPackage({ name, version, extras, imports }: PythonPackage): Promise<string> {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const tag = await runTool('python3', ['-c', 'import sys; print(sys.implementation.cache_tag, end="")']);
  const client = {
    folder: `${name}-${version}-${tag}`,
    title: `${name} ${version} for Python`,
    checkTools() {},
    async fetchInto(directory: string, signal: AbortSignal) {
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
      const wheels = ['--only-binary', ':all:', '--target', directory];
      await runTool('python3', [...pip, ...wheels, `${name}[${extras}]==${version}`], { signal });
      await runTool('python3', ['-c', imports], { env: { PYTHONPATH: directory }, signal });
    },
  };
  return cached(client, report, AbortSignal.timeout(downloadMs));
}
