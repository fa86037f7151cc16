/** HTTP server for liveness, readiness (the backends respond) and metrics, in a process that has no other port. */

import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import { processMetrics } from '../../schemas/metrics.ts';
import { createMetrics } from './metrics.ts';

interface HealthCheck {
  name: string;
  check(): Promise<boolean>;
}

/** Runs the checks at most once a second, each with a timeout of 1.5 s. */
export function createReadiness(
  checks: HealthCheck[],
): () => Promise<{ ready: boolean; checks: Record<string, boolean> }> {
  let last: { at: number; answer: Promise<{ ready: boolean; checks: Record<string, boolean> }> } | undefined;
  const limited = async (check: HealthCheck) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, 1_500, false);
    });
    const answer = await Promise.race([check.check().catch(() => false), late]);
    clearTimeout(timer);
    return answer;
  };
  return () => {
    if (last && performance.now() - last.at < 1_000) return last.answer;
    const answer = Promise.all(checks.map(limited)).then((results) => ({
      ready: results.every(Boolean),
      checks: Object.fromEntries(checks.map((check, i) => [check.name, results[i]!])),
    }));
    last = { at: performance.now(), answer };
    return answer;
  };
}

export async function serveHealth(
  address: { host: string; port: number },
  readiness: ReturnType<typeof createReadiness>,
  metrics: () => Promise<Registry>,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type }).end(body);
    if (request.url === '/health/live') return answer(200, 'application/json', '{"live":true}');
    if (request.url === '/health/ready') {
      const state = await readiness();
      return answer(state.ready ? 200 : 503, 'application/json', JSON.stringify(state));
    }
    if (request.url === '/metrics') {
      const registry = await metrics();
      return answer(200, registry.contentType, await registry.metrics());
    }
    return answer(
      404,
      'application/json',
      '{"detail":"Not found. Use /health/live, /health/ready or /metrics."}',
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return server;
}

/** Metrics about the build and the backends of a process. */
export function createProcessMetrics(readiness: ReturnType<typeof createReadiness>) {
  const metrics = createMetrics(processMetrics);
  metrics.build.set({ version: packageJson.version, node: process.versions.node }, 1);
  metrics.onRead([metrics.backendUp], async () => {
    const { checks } = await readiness();
    for (const [backend, isUp] of Object.entries(checks)) metrics.backendUp.set({ backend }, isUp ? 1 : 0);
  });
  return metrics;
}
