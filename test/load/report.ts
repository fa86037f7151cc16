/** Results as text: the most important number first, then where time and memory went. */
import { describeChecks } from './check-counts.ts';
import { columns, count, megabytes, seconds, share } from './format.ts';
import type { Percentiles } from './rounds.ts';
import type { JobsResult } from './scenarios/many-jobs.ts';
import type { PrefixResult } from './scenarios/one-prefix.ts';
import type { RunUse } from './watch-run.ts';

function describeUse({ processes, pipeline, topicBytes, window }: RunUse): string[] {
  const took = (window.toUs - window.fromUs) / 1e6;
  const cpu = Object.values(processes).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const byProcess = Object.entries(processes).map(([name, use]) => [
    name,
    seconds(use.cpuSeconds),
    share(use.cpuSeconds, cpu),
    `${use.peakRssMb.toFixed(0)} MB`,
    `${use.highWaterMb.toFixed(0)} MB`,
  ]);
  const stages = Object.entries(pipeline.stageSeconds).toSorted((a, b) => b[1] - a[1]);
  const inStages = stages.reduce((sum, [, value]) => sum + value, 0);
  const byStage = stages.map(([stage, value]) => [stage, seconds(value), share(value, inStages)]);
  return [
    `process (${(cpu / took).toFixed(2)} cores busy)`,
    ...columns([['', 'CPU', 'share', 'peak RSS', 'peak since start'], ...byProcess]),
    '',
    ...(stages.length === 0
      ? ['stages: the pipeline does not export headrace_stage_duration_seconds']
      : [
          'stage (time with messages in flight, including waits, summed over partitions)',
          ...columns([['', 'time', 'share'], ...byStage]),
        ]),
    '',
    'topic',
    ...columns(Object.entries(topicBytes).map(([topic, bytes]) => [topic, megabytes(bytes)])),
  ];
}

/** For sizing: deploy/OPERATIONS.md multiplies these figures. */
function describeCost({ options, use, fileBytes, devices, bytesPerDevice }: PrefixResult): string[] {
  const millions = options.rows / 1e6;
  const topics = Object.values(use.topicBytes).reduce((sum, bytes) => sum + bytes, 0);
  const { bench: _, ...ours } = use.processes;
  const cpu = Object.entries(ours).map(([name, { cpuSeconds }]) => [
    `CPU of ${name}`,
    seconds(cpuSeconds / millions),
  ]);
  const bytes: [string, number][] = [
    ['files in storage', fileBytes],
    ['written to Kafka', topics],
    ['sent to MongoDB', use.mongo.received],
    ['got from MongoDB', use.mongo.sent],
    ['written to disk by MongoDB', use.mongo.written],
    ['device data in MongoDB', devices * bytesPerDevice],
  ];
  return [
    'cost of a million rows',
    ...columns([...cpu, ...bytes.map(([what, size]) => [what, megabytes(size / millions)])]),
  ];
}

export function describePrefix(whole: PrefixResult): string[] {
  const { options, baseline, ...result } = whole;
  const { layout, rows, files, duplicates, keys, gzip, seed } = options;
  const rate = `${count(result.rowsPerSecond)} rows/s`;
  const lead =
    baseline && result.ratio !== null
      ? [
          `${result.ratio.toFixed(1)} times the baseline: ${rate} against ${count(baseline.rowsPerSecond)}`,
          `(the baseline: bulk upserts of the first ${count(baseline.rows)} rows; its rate falls as the collection grows)`,
        ]
      : [rate];
  const size = `${files} files${gzip ? ' (gzip)' : ''} of ${megabytes(result.fileBytes)} in total`;
  return [
    ...lead,
    '',
    `layout ${layout}, ${count(rows)} rows, ${size}, ${duplicates * 100}% duplicates, ${keys} ${layout === 'a' ? 'attributes' : 'events'}, seed ${seed}`,
    `${seconds(result.seconds)} from POST to done`,
    ...describeChecks(result.checks),
    '',
    ...describeUse(result.use),
    '',
    ...describeCost(whole),
    '',
    `MongoDB: ${result.bytesPerDevice.toFixed(1)} bytes per device (${count(result.devices)} devices, indexes included)`,
  ];
}

const latencies = ({ p50, p95, p99, max }: Percentiles) =>
  `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, max ${max.toFixed(0)} ms`;

export function describeJobs({ options, together, idleLatency, checks }: JobsResult): string[] {
  const what = `jobs of ${count(options.rows)} rows, layout ${options.layout}, one of ${options.keys} keys per file`;
  return [
    ...(together
      ? [
          `${together.jobsPerSecond.toFixed(1)} jobs/s: ${count(options.jobs)} ${what}, in ${seconds(together.seconds)} from the first POST to the last done`,
          `${latencies(together.latency)} (from POST to the record's updated_at; 16 requests in flight, so most of it is the queue)`,
        ]
      : []),
    ...(idleLatency
      ? [
          `one at a time on an idle service: ${latencies(idleLatency)} (${options.idleJobs} ${what}; from POST to the first GET with status done)`,
        ]
      : []),
    ...describeChecks(checks),
    ...(together ? ['', ...describeUse(together.use)] : []),
  ];
}
