/** Settings of the service itself, by group. A description becomes the comment in `headrace config reference`. */
import { z } from 'zod';
import { flag, host, httpsUrl, integer, oneOf, ownKey, secret32, text } from './settings.ts';
import { DEFAULT_SLOTS, MAX_SLOTS, slotCounts } from './topics.ts';

const topicName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,100}$/, 'expected letters, digits, dot, dash or underscore');

export const secrets = {
  HEADRACE_SECRET: secret32.meta({
    description:
      '32 bytes in base64 (openssl rand -base64 32): encrypts partners’ storage secrets, and is the HMAC key for API keys. Required. The value below is an example: the service refuses to start with it.',
    example: 'ZXhhbXBsZS1vbmx5LWV4YW1wbGUtb25seS1leGFtcGw=',
  }),
  HEADRACE_SECRET_OLD: z
    .string()
    .transform((list) => list.split(',').filter((secret) => secret.trim() !== ''))
    .pipe(z.array(secret32))
    .default([])
    .describe(
      'Secrets used to decrypt and verify only, separated by commas: former ones, and the next one during a rollout.',
    ),
  HEADRACE_USER_TOKEN_AUDIENCE: text('the audience (aud) of user tokens')
    .default('headrace')
    .describe('The audience (aud) that every user token must name.'),
  HEADRACE_USER_TOKEN_JWKS_URL: httpsUrl.optional().meta({
    description:
      'Also accept tokens of this issuer (iss), signed with a key at this URL (https, or http for localhost). Their claim `partner` names the partner, so the issuer can act for every partner.',
    example: 'https://login.example.com/.well-known/jwks.json',
  }),
  HEADRACE_USER_TOKEN_ISSUER: text('the issuer (iss) of user tokens')
    .optional()
    .meta({ example: 'https://login.example.com/' }),
};

export const addresses = {
  HEADRACE_API_HOST: host,
  HEADRACE_API_PORT: integer(0, 65_535, 8080),
  HEADRACE_METRICS_HOST: host.describe(
    'The API’s metrics, on an address that partners cannot reach, and the pipeline’s health checks and metrics.',
  ),
  HEADRACE_API_METRICS_PORT: integer(0, 65_535, 8081),
  HEADRACE_PIPELINE_PORT: integer(0, 65_535, 8082),
  HEADRACE_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'expected http(s)://…' })
    .optional()
    .meta({
      description: 'URL of the API and the console, for Location and Link headers and deep links.',
      example: 'https://import.example.com',
    }),
  HEADRACE_TRUSTED_PROXIES: integer(0, 10, 0).describe(
    'Number of proxies in front of the API. Each appends to X-Forwarded-For.',
  ),
};

export const observability = {
  HEADRACE_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'expected a pino level such as info',
    )
    .default('info')
    .describe('trace, debug, info, warn, error, fatal or silent.'),
  HEADRACE_OTLP_URL: z
    .url({ protocol: /^https?$/, error: 'expected http(s)://host:port' })
    .optional()
    .meta({
      description:
        'OpenTelemetry collector (OTLP over HTTP). Unset: OTEL_EXPORTER_OTLP_ENDPOINT, or no traces.',
      example: 'http://otel-collector:4318',
    }),
  HEADRACE_ACTOR: z
    .string()
    .regex(/^\P{C}{1,256}$/u, 'expected 1 to 256 printable characters')
    .optional()
    .meta({
      description: 'Who runs admin commands, for the audit log. Unset: user and host of the process.',
      example: 'ada@example.com',
    }),
};

export const topics = {
  HEADRACE_TOPIC_PREFIX: topicName.default('ingest').describe('Topics are named <prefix>.jobs and so on.'),
  HEADRACE_GROUP_PREFIX: topicName
    .default('headrace')
    .describe('Consumer groups are named <prefix>.split and so on.'),
  HEADRACE_PARTITIONS: integer(1, MAX_SLOTS, 4).describe(
    'Partitions of files, rows, devices and rejects, at creation; at most HEADRACE_SLOTS. No effect on existing topics.',
  ),
  HEADRACE_SLOTS: oneOf(slotCounts, DEFAULT_SLOTS).describe(
    'Slots of every device set: 16, 32, 64, 128 or 256. Stored at the first start; no process starts with another number later.',
  ),
  HEADRACE_REPLICATION_FACTOR: integer(1, 9, 1).meta({
    description: 'min.insync.replicas is one less. Default 1, for a single broker.',
    recommended: 3,
  }),
  HEADRACE_RETENTION_HOURS: integer(1, 8_760, 72).describe('Retention of the topics.'),
};

export const retention = {
  HEADRACE_RETENTION_DAYS_JOBS: integer(2, 36_500, 365).describe(
    'Ended jobs and their files are removed after this time. Loads of an audience stay until it is cleared.',
  ),
  HEADRACE_RETENTION_DAYS_REJECTS: integer(1, 36_500, 30).describe(
    'Rejected rows, after the end of their job.',
  ),
  HEADRACE_RETENTION_DAYS_EVIDENCE: integer(1, 36_500, 2_190).describe('Receipts of privacy requests.'),
  HEADRACE_RETENTION_DAYS_BACKUPS: z.coerce
    .number({ error: 'expected a whole number' })
    .int('expected a whole number')
    .min(0, 'expected 0 or more')
    .optional()
    .meta({
      description:
        'How long you keep backups of MongoDB: receipts say until when deleted data is in them. 0: there are none. Unset: receipts do not say.',
      example: 35,
    }),
};

export const capacity = {
  HEADRACE_ORDER: z
    .enum(['partner', 'service'], 'expected partner or service')
    .default('partner')
    .describe(
      'Jobs end in the order of acceptance. partner: in one order per partner; service: in one order for all.',
    ),
  HEADRACE_THREADS: integer(1, 64, 2).describe(
    'Threads of a pipeline process, which share its partitions. With two or more, dispatch gets an additional one.',
  ),
  HEADRACE_SINK_MEMORY_MB: integer(1, 65_536, 80).describe(
    'Memory for uncommitted devices per process; the sink spills the rest to MongoDB.',
  ),
  HEADRACE_READ_AHEAD_MB: integer(1, 10_000_000, 4_096).describe(
    'Uncompressed megabytes of files loaded ahead of the oldest unfinished job of each partner.',
  ),
  HEADRACE_SESSION_TIMEOUT_MS: integer(1_000, 300_000, 3_500).describe(
    'The partitions of a process without heartbeats are reassigned after this time; 6 s if the brokers do not accept less.',
  ),
  HEADRACE_LIMIT_BACKEND_MS: integer(100, 60_000, 2_500).describe(
    'Maximum wait of a request for Kafka or MongoDB (then 503), and of a command for MongoDB.',
  ),
  HEADRACE_SHUTDOWN_MS: integer(100, 600_000, 10_000).describe('Maximum time to finish work after SIGTERM.'),
};

export const files = {
  HEADRACE_MAX_INVALID_SHARE: z.coerce
    .number({ error: 'expected a share between 0 and 1' })
    .min(0, 'expected a share between 0 and 1')
    .max(1, 'expected a share between 0 and 1')
    .default(0.05)
    .describe('A file fails if a larger share of its rows is invalid.'),
  HEADRACE_STORAGE_DEADLINE_MS: integer(100, 86_400_000, 300_000).describe(
    'Maximum time without progress of a job’s storage; then the file or the listing fails with storage_unavailable.',
  ),
  HEADRACE_PRIVACY_FLOOR: integer(0, 1_000_000, 0).meta({
    description:
      'Smaller counts are hidden in the composition report, and all of them if the audience itself is smaller. It does not protect against comparing reports before and after a change. Default 0: nothing is hidden.',
    recommended: 100,
  }),
};

export const limits = {
  HEADRACE_RATE_PER_SECOND: integer(1, 1_000_000, 500).describe(
    'Average requests per second and API key; bursts may be twice as large.',
  ),
  HEADRACE_MAX_PENDING_JOBS: integer(1, 10_000_000, 10_000).describe(
    'Unfinished jobs of a partner; further ones get 429. `headrace admin partner quota` changes this and the next two for one partner.',
  ),
  HEADRACE_MAX_BYTES_PER_DAY: integer(0, Number.MAX_SAFE_INTEGER, 0).describe(
    'Uncompressed bytes and rows that a partner may load per day (UTC); 0: no limit.',
  ),
  HEADRACE_MAX_ROWS_PER_DAY: integer(0, Number.MAX_SAFE_INTEGER, 0),
};

/** California's Delete Request and Opt-out Platform. */
export const drop = {
  HEADRACE_DROP_URL: httpsUrl.optional().meta({
    description:
      'The platform’s API (https://api.drop.privacy.ca.gov/sandbox to try it). Unset: this installation does not take part.',
    example: 'https://api.drop.privacy.ca.gov',
  }),
  HEADRACE_DROP_API_KEY: ownKey('the API key from the data broker portal').optional().meta({
    description: 'From the data broker portal; for `headrace admin drop` only.',
    example: 'change-me',
  }),
  HEADRACE_DROP_BROKER_ID: z
    .string()
    .regex(/^\d{4}$/, 'expected 4 digits, as in the names of the platform’s files')
    .optional()
    .meta({ description: 'Files for another data broker are refused.', example: '4821' }),
  HEADRACE_DROP_DAYS: integer(1, 45, 45).describe(
    'A session must be complete at least this often; metrics and `headrace admin drop status` count down.',
  ),
};

export const testInstallations = {
  HEADRACE_ALLOW_LOAD: flag.describe('1: `headrace load` may fill this service with generated data.'),
  HEADRACE_WEBHOOK_ALLOW_PRIVATE: flag.describe('1: webhooks may have private addresses and plain http.'),
};
