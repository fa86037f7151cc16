/** What a process is and what it depends on, as metrics. */
import packageJson from '../../package.json' with { type: 'json' };
import { processMetrics } from '../../schemas/metrics.ts';
import type { createReadiness } from './health.ts';
import { createMetrics } from './metrics.ts';

export function createProcessMetrics(readiness: ReturnType<typeof createReadiness>) {
  const metrics = createMetrics(processMetrics);
  metrics.build.set({ version: packageJson.version, node: process.versions.node }, 1);
  metrics.onRead([metrics.backendUp], async () => {
    const { checks } = await readiness();
    for (const [backend, isUp] of Object.entries(checks)) metrics.backendUp.set({ backend }, isUp ? 1 : 0);
  });
  return metrics;
}
