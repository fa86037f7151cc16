/** confluent-kafka for Python, a third-party client. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { pythonPackage } from '../python-package.ts';

const confluent = {
  name: 'confluent-kafka',
  version: '2.16.0',
  extras: 'avro,schemaregistry',
  imports: 'import confluent_kafka.schema_registry.avro',
};

export type RunPython = (script: string, ...args: string[]) => Promise<string>;

/** Runs a script of this folder and returns its output; or says why the client is missing. */
export async function confluentPython(): Promise<{ run: RunPython } | { missing: string }> {
  try {
    const env = { ...process.env, PYTHONPATH: await pythonPackage(confluent) };
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
