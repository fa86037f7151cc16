/** Everything observed while the service works: its processes, its metrics, its topics. */
import type { Bench } from './bench-stack.ts';
import { type MongoUse, watchMongo } from './observe-mongodb.ts';
import { type PipelineUse, watchPipeline } from './observe-pipeline.ts';
import { type ProcessUse, watchProcesses } from './observe-processes.ts';
import { flush, grown, topicBytes } from './observe-storage.ts';
import { type MeasureWindow, openWindow } from './profile-summary.ts';

export interface RunUse {
  readonly window: MeasureWindow;
  readonly processes: Record<string, ProcessUse>;
  readonly pipeline: PipelineUse;
  readonly topicBytes: Record<string, number>;
  readonly mongo: MongoUse;
}

/** The pipeline's peak memory so far. */
export const pipelinePeakMb = ({ processes }: RunUse): number =>
  Math.max(processes.pipeline!.peakRssMb, processes.pipeline!.highWaterMb);

export async function watchRun<T>(
  { stack, progress }: Bench,
  work: () => Promise<T>,
  describeRows?: (rows: number, seconds: number) => string,
): Promise<{ result: T; use: RunUse }> {
  const { db, kafkaLogs, metricsUrl, pids, config } = stack;
  const topics = () => topicBytes(kafkaLogs, config.topicPrefix);
  await flush(db);
  const topicsBefore = topics();
  const since = performance.now();
  const pipelineWatch = await watchPipeline(metricsUrl, (rows) => {
    if (describeRows) progress.live(describeRows(rows, (performance.now() - since) / 1_000));
  });
  const mongoUse = await watchMongo(db);
  const processWatch = watchProcesses({ ...pids, bench: process.pid });
  const closeWindow = openWindow();
  try {
    const result = await work();
    const window = closeWindow();
    const processes = processWatch.stop();
    const pipeline = await pipelineWatch.stop();
    // Writes what is still in memory.
    await flush(db);
    const use = { window, processes, pipeline, topicBytes: grown(topicsBefore, topics()) };
    return { result, use: { ...use, mongo: await mongoUse() } };
  } catch (error) {
    processWatch.stop();
    await pipelineWatch.stop().catch(() => {});
    throw error;
  }
}
