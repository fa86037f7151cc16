/** confluent-kafka for Python, a client that nobody here wrote: downloaded with pip, once, into the cache of the servers. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cached } from '../../../deploy/local/cache.ts';
import { runTool } from '../../../deploy/local/child.ts';
import { onPath } from '../../../deploy/local/tools.ts';

const version = '2.16.0';
const downloadMs = 500_000;
const report = (line: string) => void process.stderr.write(`  ${line}\n`);

async function download(): Promise<string> {
  if (!onPath('python3')) throw new Error('python3 is not on the PATH');
  const tag = await runTool('python3', ['-c', 'import sys; print(sys.implementation.cache_tag, end="")']);
  const client = {
    folder: `confluent-kafka-${version}-${tag}`,
    title: `confluent-kafka ${version} for Python`,
    checkTools() {},
    async fetchInto(directory: string, signal: AbortSignal) {
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
      const wheels = ['--only-binary', ':all:', '--target', directory];
      const wanted = `confluent-kafka[avro,schemaregistry]==${version}`;
      await runTool('python3', [...pip, ...wheels, wanted], { signal });
      const imports = 'import confluent_kafka.schema_registry.avro';
      await runTool('python3', ['-c', imports], { env: { PYTHONPATH: directory }, signal });
    },
  };
  return cached(client, report, AbortSignal.timeout(downloadMs));
}

export type RunPython = (script: string, ...args: string[]) => Promise<string>;

/** Runs a script of this folder and gives its output; or why there is no client here. */
export async function confluentPython(): Promise<{ run: RunPython } | { missing: string }> {
  try {
    const env = { ...process.env, PYTHONPATH: await download() };
    const run: RunPython = async (script, ...args) => {
      const file = fileURLToPath(new URL(script, import.meta.url));
      const options = { env, maxBuffer: 200_000_000 };
      return (await promisify(execFile)('python3', [file, ...args], options)).stdout;
    };
    return { run };
  } catch (error) {
    return { missing: `no confluent-kafka for Python: ${(error as Error).message}` };
  }
}
