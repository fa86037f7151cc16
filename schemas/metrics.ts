/**
 * Every exported metric. Names and labels are a contract: the dashboard and the alert rules in deploy/monitoring use them. Base units;
 * counters end in `_total`.
 */
export interface DeclaredMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: `headrace_${string}`;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** How the values of a process's threads are aggregated. Default: sum. */
  readonly across?: 'max';
}

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const workBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const jobBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];

const counter = <const L extends readonly string[]>(
  name: `headrace_${string}_total`,
  help: string,
  labels: L,
) => ({ type: 'counter', name, help, labels }) as const;
const gauge = <const L extends readonly string[]>(name: `headrace_${string}`, help: string, labels: L) =>
  ({ type: 'gauge', name, help, labels }) as const;
const histogram = <const L extends readonly string[]>(
  name: `headrace_${string}_seconds`,
  help: string,
  labels: L,
  buckets: readonly number[],
) => ({ type: 'histogram', name, help, labels, buckets }) as const;

/** Metrics of both processes: build and backends. */
export const processMetrics = {
  build: gauge('headrace_build_info', 'Always 1; the labels say which version runs.', ['version', 'node']),
  backendUp: gauge('headrace_backend_up', 'Whether a backend responds: 1 or 0.', ['backend']),
};

const published = {
  publishDuration: histogram(
    'headrace_publish_duration_seconds',
    'Time to publish messages, one request to Kafka, repeated ones included.',
    ['topic'],
    requestBuckets,
  ),
  messagesPublished: counter('headrace_messages_published_total', 'Messages published.', ['topic']),
  bytesPublished: counter('headrace_published_bytes_total', 'Bytes of published messages.', ['topic']),
};

export const apiMetrics = {
  requests: histogram(
    'headrace_http_request_duration_seconds',
    'Time from the arrival of a request to the end of its response.',
    ['method', 'route', 'status'],
    requestBuckets,
  ),
  jobsQueued: counter('headrace_jobs_queued_total', 'Jobs accepted and published.', ['kind']),
  streams: gauge('headrace_event_streams', 'Open streams of server-sent events.', []),
  compositions: histogram(
    'headrace_composition_duration_seconds',
    'Time to compute the composition report of an audience.',
    [],
    workBuckets,
  ),
  composerFailures: counter(
    'headrace_composition_thread_failures_total',
    'Threads that failed while computing a report; the next report gets a new thread.',
    [],
  ),
  /** Exported by the API, so that they exist while no pipeline runs. */
  jobs: gauge('headrace_jobs', 'Unfinished jobs by phase: accepted, listed, decided.', ['phase']),
  jobsStopped: gauge(
    'headrace_jobs_stopped',
    'Decided jobs that could not be merged and wait for an operator, and with them the jobs behind them.',
    [],
  ),
  oldestJobAge: gauge(
    'headrace_oldest_job_age_seconds',
    'Time since the oldest unfinished job of the phase was accepted; 0 if there is none.',
    ['phase'],
  ),
  dropDue: gauge(
    'headrace_drop_due_seconds',
    'Time until a session with DROP must be complete (HEADRACE_DROP_DAYS after the last one); negative: overdue. Only where HEADRACE_DROP_URL is set.',
    [],
  ),
  dropAge: gauge('headrace_drop_session_age_seconds', 'Time since the last complete session with DROP.', []),
  dropOpen: gauge('headrace_drop_open_entries', 'Entries of DROP whose status is not uploaded yet.', []),
  dropRejected: gauge(
    'headrace_drop_rejected_files',
    'Files of statuses that the platform has rejected and not accepted since.',
    [],
  ),
  deliveries: counter(
    'headrace_webhook_deliveries_total',
    'Attempts to deliver an event to a webhook, by outcome: delivered, retried or failed.',
    ['outcome'],
  ),
  oldestDelivery: gauge(
    'headrace_webhook_oldest_pending_seconds',
    'Age of the oldest pending delivery to a webhook, over all processes.',
    [],
  ),
  ...published,
};

export const pipelineMetrics = {
  messagesHandled: counter('headrace_messages_handled_total', 'Messages that a stage has handled.', [
    'stage',
  ]),
  bytesHandled: counter('headrace_handled_bytes_total', 'Bytes of the messages that a stage has handled.', [
    'stage',
  ]),
  stageDuration: histogram(
    'headrace_stage_duration_seconds',
    'Time to handle the messages that a stage takes at once of one partition, waits included.',
    ['stage'],
    workBuckets,
  ),
  lagMessages: gauge(
    'headrace_consumer_lag_messages',
    'Messages past the committed offset of a stage; exported by the active dispatcher, for all stages.',
    ['stage'],
  ),
  lagSeconds: {
    ...gauge(
      'headrace_consumer_lag_seconds',
      'Age of the oldest message that this process has fetched for a stage but not handled.',
      ['stage'],
    ),
    across: 'max',
  } as const,
  partitions: gauge('headrace_partitions_assigned', 'Input partitions assigned to a stage in this process.', [
    'stage',
  ]),
  rebalances: counter('headrace_rebalances_total', 'Times that partitions were assigned to a stage.', [
    'stage',
  ]),
  consumerRestarts: counter(
    'headrace_consumer_restarts_total',
    'Consumers of a stage that failed and were replaced.',
    ['stage'],
  ),
  deadLetters: counter('headrace_dead_letters_total', 'Messages that could not be decoded.', ['stage']),
  handlingFailures: counter(
    'headrace_handling_failures_total',
    'Failures of a stage to handle a message, other than Kafka failures.',
    ['stage'],
  ),
  messagesGivenUp: counter(
    'headrace_messages_given_up_total',
    'Messages that a stage gave up after several failures; their jobs end with internal_error.',
    ['stage'],
  ),
  retries: counter('headrace_retries_total', 'Retried steps, by error.', ['reason']),

  storageBytes: counter('headrace_storage_read_bytes_total', 'Bytes of files that split has read.', []),
  rowsValidated: counter('headrace_rows_validated_total', 'Data rows read by validate.', []),
  rowsRejected: counter('headrace_rows_rejected_total', 'Rows rejected by validate.', ['reason']),
  heldBytes: gauge('headrace_sink_held_bytes', 'Devices of unmerged jobs that the sink has in memory.', []),
  spills: counter('headrace_spills_total', 'Times that the sink spilled devices from memory to MongoDB.', []),
  spilledBytes: counter('headrace_spilled_bytes_total', 'Bytes that the sink spilled to MongoDB.', []),
  mergeDuration: histogram(
    'headrace_merge_duration_seconds',
    'Time to merge jobs into the slots of one partition.',
    ['kind'],
    workBuckets,
  ),

  dispatcherActive: gauge('headrace_dispatcher_active', '1 in the process with the active dispatcher.', []),
  jobsInFlight: gauge('headrace_jobs_in_flight', 'Jobs that the dispatcher has started but not ended.', []),
  jobsEnded: counter('headrace_jobs_ended_total', 'Jobs ended, by status: done or error.', [
    'kind',
    'status',
  ]),
  jobErrors: counter('headrace_job_errors_total', 'Errors of ended jobs, by code.', ['code']),
  jobDuration: histogram(
    'headrace_job_duration_seconds',
    'Time that ended jobs were waiting, loading, merging, and all of it (total).',
    ['kind', 'phase'],
    jobBuckets,
  ),
  jobsRepeated: counter(
    'headrace_jobs_repeated_total',
    'Times that the files of a job were published again because devices were lost.',
    [],
  ),
  ...published,
};
