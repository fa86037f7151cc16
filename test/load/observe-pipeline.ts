/** The pipeline's own metrics while it works: rows over time, and seconds per stage. */
const sampleEveryMs = 1_000;

/** Values of a Prometheus text by name and labels: `name{stage="split"}`. */
export function parseMetrics(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const space = line.lastIndexOf(' ');
    if (line === '' || line.startsWith('#') || space < 0) continue;
    values.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return values;
}

const rowsCounter = 'headrace_rows_validated_total';
const stageCounter = /^headrace_stage_duration_seconds_sum\{.*stage="([^"]+)".*\}$/;

export function stageSeconds(metrics: Map<string, number>): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const [name, value] of metrics) {
    const stage = stageCounter.exec(name)?.[1];
    if (stage !== undefined) seconds.set(stage, (seconds.get(stage) ?? 0) + value);
  }
  return seconds;
}

interface PipelineSample {
  /** Seconds since the measurement began. */
  readonly at: number;
  readonly rows: number;
}

export interface PipelineUse {
  readonly samples: PipelineSample[];
  /** Empty if the pipeline does not count them. */
  readonly stageSeconds: Record<string, number>;
}

export async function readPipelineMetrics(url: string): Promise<Map<string, number>> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  return parseMetrics(await response.text());
}

export async function watchPipeline(url: string, onRows: (rows: number) => void = () => {}) {
  const before = await readPipelineMetrics(url);
  const rowsBefore = before.get(rowsCounter) ?? 0;
  const since = performance.now();
  const samples: PipelineSample[] = [{ at: 0, rows: 0 }];
  const sample = async () => {
    const metrics = await readPipelineMetrics(url);
    const rows = (metrics.get(rowsCounter) ?? 0) - rowsBefore;
    samples.push({ at: (performance.now() - since) / 1_000, rows });
    onRows(rows);
    return metrics;
  };
  let running: Promise<unknown> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    // A busy process answers late; skip the sample.
    running = sample()
      .catch(() => {})
      .finally(() => {
        busy = false;
      });
  }, sampleEveryMs);
  return {
    async stop(): Promise<PipelineUse> {
      clearInterval(timer);
      await running;
      const stagesBefore = stageSeconds(before);
      const seconds = [...stageSeconds(await sample())].map(([stage, value]): [string, number] => [
        stage,
        value - (stagesBefore.get(stage) ?? 0),
      ]);
      return { samples, stageSeconds: Object.fromEntries(seconds) };
    },
  };
}
