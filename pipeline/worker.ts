/**
 * `headrace pipeline`: runs the chosen stages of topology.ts until a signal or a fatal error. Stages communicate only through Kafka and
 * MongoDB, so each thread runs all of them and the threads share the partitions like processes. With two or more threads, dispatch gets
 * its own: it wakes often, does little, and must not wait for row parsing.
 */
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../schemas/config.ts';
import { type StageName, stageNames } from '../schemas/stages.ts';
import { createShutdown } from './engine/shutdown.ts';
import { startThread } from './engine/threads.ts';
import { createProcessMetrics, createReadiness, serveHealth } from './runtime/health.ts';
import { createLogger } from './runtime/log.ts';
import { readAll } from './runtime/metrics.ts';
import type { ThreadData, ThreadHealth } from './stage-thread.ts';

/**
 * V8 counts buffers as heap and assumes that most of them live long. Ours die young, so by default V8 marks the whole heap for every
 * 50 MB of throughput: a quarter of the CPU time, and almost nothing is freed. A fixed factor lets the old space grow to 2.5 times its
 * live size before a mark; V8's own factor varies from 1.1 to 4. Halving the young generation saves 35 MB and takes no measurable time.
 */
export const HEAP_FLAGS = '--heap-growing-percent=150 --max-semi-space-size=8';

function stagesByThread(chosen: readonly StageName[], threads: number): (readonly StageName[])[] {
  if (threads === 1) return [chosen];
  const dispatch = chosen.filter((stage) => stage === 'dispatch');
  const others = chosen.filter((stage) => stage !== 'dispatch');
  return [dispatch, ...Array.from({ length: threads }, () => others)].filter(({ length }) => length > 0);
}

export async function runPipeline(config: Config, chosen: readonly StageName[] = stageNames): Promise<void> {
  setFlagsFromString(HEAP_FLAGS);
  const log = createLogger(config, 'pipeline');
  const shutdown = createShutdown(log, config.shutdownMs);
  // The build puts it next to this file.
  const module = new URL('./stage-thread.cjs', import.meta.url);
  const onFailure = (error: Error) => shutdown.stop('a stage failed', error);
  const threads = stagesByThread(chosen, config.threads).map((stages, i) =>
    startThread(module, { stages, isFirst: i === 0 } satisfies ThreadData, onFailure),
  );

  const isHealthy = (part: keyof ThreadHealth) => async () => {
    const answers = await Promise.all(threads.map((thread) => thread.ask<ThreadHealth>('health')));
    return answers.every((answer) => answer[part]);
  };
  const storageIsReadable = async () =>
    (await Promise.all(threads.map((thread) => thread.ask<boolean>('storage')))).every(Boolean);
  const readiness = createReadiness([
    { name: 'kafka', check: isHealthy('kafka') },
    { name: 'mongodb', check: isHealthy('mongodb') },
    { name: 'stages', check: isHealthy('stages') },
    { name: 'storage', check: storageIsReadable },
  ]);
  const threadMetrics = threads.map((thread) => ({ read: () => thread.ask<object[]>('metrics') }));
  const metrics = [createProcessMetrics(readiness), ...threadMetrics];
  const health = await serveHealth({ host: config.metricsHost, port: config.pipelinePort }, readiness, () =>
    readAll(metrics),
  );
  log.info({ health: health.address(), stages: chosen, threads: threads.length }, 'starting');

  // Each thread stops its stages in flow order, then its clients.
  shutdown.add('stages', () =>
    Promise.all(threads.filter((thread) => !thread.hasEnded()).map((thread) => thread.ask('stop'))),
  );
  shutdown.add('threads', () => Promise.all(threads.map((thread) => thread.terminate())));
  shutdown.add('health', () => health.close());
}
