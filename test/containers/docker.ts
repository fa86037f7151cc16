/** The docker command, and the service's image as the tests run it. */
import { fileURLToPath } from 'node:url';
import { runTool } from '../../deploy/local/child.ts';
import type { Settings } from '../support/settings.ts';
import { waitFor } from '../support/wait-for.ts';

export const docker = async (...args: string[]): Promise<string> => (await runTool('docker', args)).trim();

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds in the host's network, so that packages come through the host's proxy settings. Returns the builder's output. */
export function build(tag: string, { buildKit = false } = {}): Promise<string> {
  const builder = buildKit ? ['buildx', 'build', '--progress', 'plain', '--load'] : ['build'];
  const args = [...builder, '--network', 'host', '-f', 'deploy/Dockerfile', '-t', tag, '.'];
  return runTool('docker', args, { cwd: root, env: { DOCKER_BUILDKIT: buildKit ? '1' : '0' } });
}

const lines = (text: string) => text.split('\n').filter(Boolean).sort();

/** Everything that a purge must remove, by kind and name. */
export async function leftovers(): Promise<Record<'containers' | 'volumes' | 'networks', string[]>> {
  const named = ['--format', '{{.Name}}'];
  return {
    containers: lines(await docker('ps', '-a', '--format', '{{.Names}}')),
    volumes: lines(await docker('volume', 'ls', ...named)),
    networks: lines(await docker('network', 'ls', ...named)),
  };
}

export const exitCode = async (container: string): Promise<number> =>
  Number(await docker('inspect', '--format', '{{.State.ExitCode}}', container));

export const healthIs = (container: string, wanted: 'healthy' | 'unhealthy') =>
  waitFor(
    async () => (await docker('inspect', '--format', '{{.State.Health.Status}}', container)) === wanted,
    {
      what: `${container} to be ${wanted}`,
      everyMs: 500,
    },
  );

/** The options of the deployments, but in the host's network and on its loopback interface. */
export function runOptions(env: Settings): string[] {
  const here = '127.0.0.1';
  const hosts = { HEADRACE_API_HOST: here, HEADRACE_METRICS_HOST: here };
  return [
    ...['--network', 'host', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ...Object.entries({ ...env, ...hosts }).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
  ];
}
