/**
 * The configuration: parsed from the environment once, validated, frozen. An error names the variable and what was expected.
 * deploy/config/minimal.env has the settings without a default; reference.env has all of them.
 */
import { z } from 'zod';
import { isClientVariable } from './client-variables.ts';
import { connections, disagreements } from './connections.ts';
import { readSecretFiles } from './secret-files.ts';
import { flag, host, httpsUrl, integer, oneOf, secret32 } from './settings.ts';
import { DEFAULT_SLOTS, MAX_SLOTS, slotCounts } from './topics.ts';

const environment = z.object({
  ...connections,

  /** Encrypts partners' storage secrets, and is the HMAC key for API keys. */
  HEADRACE_SECRET: secret32,
  /** Secrets used to decrypt and verify only: former ones, and the next one while it is rolled out. */
  HEADRACE_SECRET_OLD: z
    .string()
    .transform((list) => list.split(',').filter((text) => text.trim() !== ''))
    .pipe(z.array(secret32))
    .default([]),
  /** The audience (aud) that every user token must name. */
  HEADRACE_USER_TOKEN_AUDIENCE: z
    .string()
    .min(1, 'expected the audience (aud) of user tokens')
    .default('headrace'),
  /** User tokens are also accepted if this issuer has signed them with one of these keys, for whichever partner they name. */
  HEADRACE_USER_TOKEN_JWKS_URL: httpsUrl.optional(),
  HEADRACE_USER_TOKEN_ISSUER: z.string().min(1, 'expected the issuer (iss) of user tokens').optional(),
  /** The longest lifetime of a token, from iat to exp. */
  HEADRACE_USER_TOKEN_MAX_SECONDS: integer(60, 31_536_000, 604_800),
  /** The longest time for which somebody stays signed in to the console. */
  HEADRACE_CONSOLE_SESSION_SECONDS: integer(60, 2_592_000, 28_800),

  HEADRACE_API_HOST: host,
  HEADRACE_API_PORT: integer(0, 65_535, 8080),
  /** The metrics have an address of their own, so that partners who can reach the API cannot read them. */
  HEADRACE_API_METRICS_HOST: host,
  HEADRACE_API_METRICS_PORT: integer(0, 65_535, 8081),
  HEADRACE_PIPELINE_HOST: host,
  HEADRACE_PIPELINE_PORT: integer(0, 65_535, 8082),
  /** The URL at which partners and customers reach the API and the console, for links. */
  HEADRACE_PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'expected http(s)://…' }).optional(),
  HEADRACE_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'expected a pino level such as info',
    )
    .default('info'),

  /** The collector of OpenTelemetry traces; without it, OTEL_EXPORTER_OTLP_ENDPOINT. None: nothing is traced. */
  HEADRACE_OTLP_URL: z.url({ protocol: /^https?$/, error: 'expected http(s)://host:port' }).optional(),

  /** Topics are `<prefix>.jobs` and so on; consumer groups `<prefix>.split` and so on. */
  HEADRACE_TOPIC_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/, 'expected letters, digits, dot, dash or underscore')
    .default('ingest'),
  HEADRACE_GROUP_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/, 'expected letters, digits, dot, dash or underscore')
    .default('headrace'),
  /** Partitions of the topics that have several, at creation. */
  HEADRACE_PARTITIONS: integer(1, MAX_SLOTS, 4),
  /** Slots of every device set, at the first start. */
  HEADRACE_SLOTS: oneOf(slotCounts, DEFAULT_SLOTS),
  HEADRACE_REPLICATION_FACTOR: integer(1, 9, 1),
  HEADRACE_RETENTION_HOURS: integer(1, 8_760, 72),
  /** Ended jobs are removed after so many days. A repeated request may look for its job within the first of them. */
  HEADRACE_RETENTION_DAYS_JOBS: integer(2, 36_500, 365),
  /** Rejected rows are removed so many days after the end of their job. */
  HEADRACE_RETENTION_DAYS_REJECTS: integer(1, 36_500, 30),
  /** Deliveries to webhooks are removed after so many days. */
  HEADRACE_RETENTION_DAYS_DELIVERIES: integer(2, 36_500, 30),

  /** Threads of a pipeline process. Each thread runs all stages of the process and gets a share of the partitions. */
  HEADRACE_THREADS: integer(1, 64, 2),
  /** How many jobs may be in flight: the oldest unfinished one and those after it. */
  HEADRACE_JOB_WINDOW: integer(1, 1_000, 256),
  /** Megabytes of files, unpacked, that may be loaded ahead of the oldest unfinished job. */
  HEADRACE_READ_AHEAD_MB: integer(1, 10_000_000, 4_096),
  /** Megabytes of rows that the split stage of a process may be ahead of validate. */
  HEADRACE_ROWS_AHEAD_MB: integer(1, 1_000_000, 128),
  /** The partitions of a process that sends no heartbeat for this long go to others; brokers refuse less than their group.min.session.timeout.ms. */
  HEADRACE_SESSION_TIMEOUT_MS: integer(1_000, 300_000, 10_000),
  /** Work without progress for this long is dispatched again. */
  HEADRACE_STALL_MS: integer(100, 3_600_000, 60_000),
  /** How many files of a job may be in flight; up to 32 small ones count as one. */
  HEADRACE_FILE_WINDOW: integer(1, 10_000, 64),
  HEADRACE_MAX_FILES: integer(1, 10_000_000, 1_000_000),
  /** Objects asked for at once when a prefix is listed. */
  HEADRACE_LIST_PAGE: integer(1, 1_000, 1_000),
  HEADRACE_BATCH_BYTES: integer(1_000, 900_000, 700_000),
  HEADRACE_SINK_MEMORY_MB: integer(1, 65_536, 80),
  HEADRACE_MAX_INVALID_SHARE: z.coerce
    .number({ error: 'expected a share between 0 and 1' })
    .min(0, 'expected a share between 0 and 1')
    .max(1, 'expected a share between 0 and 1')
    .default(0.05),
  /** Those of a batch are one document: more than this would not fit. */
  HEADRACE_REJECTS_PER_FILE: integer(0, 100_000, 10_000),
  HEADRACE_GZIP_RATIO: integer(2, 2_000, 200),
  HEADRACE_S3_IDLE_MS: integer(100, 600_000, 20_000),
  /** How long a job's storage may deliver nothing before the file or the listing fails. */
  HEADRACE_STORAGE_DEADLINE_MS: integer(100, 86_400_000, 300_000),
  /** Bytes per second with which a file must arrive, on average over that time; 0 means any. */
  HEADRACE_STORAGE_MIN_RATE: integer(0, 1_000_000_000, 65_536),

  /** Megabytes that a dry run reads at most. */
  HEADRACE_DRY_RUN_MB: integer(1, 100_000, 100),
  /** Whether this is a service for tests: `headrace load` refuses any other. */
  HEADRACE_ALLOW_LOAD: flag,

  /** How long a webhook's receiver may take to answer. */
  HEADRACE_WEBHOOK_TIMEOUT_MS: integer(100, 60_000, 10_000),
  /** For how long a delivery is tried again. */
  HEADRACE_WEBHOOK_RETRY_HOURS: integer(1, 168, 24),
  /** For tests: webhooks may have private addresses, and plain http. */
  HEADRACE_WEBHOOK_ALLOW_PRIVATE: z
    .enum(['0', '1'], 'expected 0 or 1')
    .transform((text) => text === '1')
    .default(false),

  /** Counts of an audience's devices below this are hidden, and all of them if the audience itself is smaller. */
  HEADRACE_PRIVACY_FLOOR: integer(0, 1_000_000, 0),

  HEADRACE_LIMIT_BODY_BYTES: integer(1_024, 10_485_760, 65_536),
  HEADRACE_LIMIT_JSON_DEPTH: integer(2, 100, 8),
  /** A deletion is one message in Kafka, with all of its keys. */
  HEADRACE_LIMIT_KEYS: integer(1, 3_000, 1_000),
  HEADRACE_LIMIT_PATH_BYTES: integer(1, 1_024, 1_024),
  HEADRACE_LIMIT_REQUEST_MS: integer(100, 600_000, 30_000),
  HEADRACE_LIMIT_HEADERS_MS: integer(100, 600_000, 10_000),
  /** How long a client may read nothing of its response before it is disconnected. */
  HEADRACE_LIMIT_STALL_MS: integer(100, 600_000, 30_000),
  HEADRACE_LIMIT_CONNECTIONS: integer(1, 1_000_000, 10_000),
  /** Not enforced behind proxies, where all clients share an address. */
  HEADRACE_LIMIT_CONNECTIONS_PER_ADDRESS: integer(1, 1_000_000, 1_000),
  /** Number of proxies in front of the API. Each appends to X-Forwarded-For, so the client's address is that many from the end. */
  HEADRACE_TRUSTED_PROXIES: integer(0, 10, 0),
  /** Requests with an invalid API key per minute and address. */
  HEADRACE_WRONG_KEYS_PER_MINUTE: integer(1, 1_000_000, 300),
  /** Unfinished jobs of one partner; further ones are refused. */
  HEADRACE_MAX_PENDING_JOBS: integer(1, 10_000_000, 10_000),
  /** Quotas of one partner for a day (UTC), unless it has its own; 0 means no limit. */
  HEADRACE_MAX_BYTES_PER_DAY: integer(0, Number.MAX_SAFE_INTEGER, 0),
  HEADRACE_MAX_ROWS_PER_DAY: integer(0, Number.MAX_SAFE_INTEGER, 0),
  /** Requests per API key: the average per second, and the largest burst. */
  HEADRACE_RATE_PER_SECOND: integer(1, 1_000_000, 500),
  HEADRACE_RATE_BURST: integer(1, 1_000_000, 1_000),
  /** Open event streams of one API key, or of the sessions of one customer. */
  HEADRACE_LIMIT_STREAMS: integer(1, 100_000, 100),
  /** How long a request waits for Kafka or MongoDB before the response is 503, and a command for MongoDB before it fails. */
  HEADRACE_LIMIT_BACKEND_MS: integer(100, 60_000, 2_500),
  HEADRACE_SHUTDOWN_MS: integer(100, 600_000, 10_000),

  /** Who runs admin commands, for the audit log. */
  HEADRACE_ACTOR: z
    .string()
    .regex(/^\P{C}{1,256}$/u, 'expected 1 to 256 printable characters')
    .optional(),
});

const prefix = 'HEADRACE_';
type Environment = z.output<typeof environment>;
export type EnvironmentVariable = keyof Environment;
export const environmentVariables = Object.keys(environment.shape) as EnvironmentVariable[];

type StartingWith<P extends string> = Extract<EnvironmentVariable, `${P}${string}`>;
const startingWith = <P extends string>(start: P) =>
  environmentVariables.filter((name): name is StartingWith<P> => name.startsWith(start));
const storage = [...startingWith('HEADRACE_S3_'), ...startingWith('HEADRACE_PARTNER_S3_')];
const secrets = ['HEADRACE_SECRET', 'HEADRACE_SECRET_OLD'] as const;

/** What a role does without is neither required nor read: nobody needs a secret that he does not use. */
const unusedBy = {
  all: [] as never[],
  api: storage,
  pipeline: [] as never[],
  admin: startingWith('HEADRACE_KAFKA_'),
  /** tap, topics and replay. */
  operator: [...storage, ...secrets],
} satisfies Record<string, readonly EnvironmentVariable[]>;
export type Role = keyof typeof unusedBy;

function checkTogether(env: Partial<Environment>, check: z.RefinementCtx): void {
  const refuse = (name: string, message: string) => check.addIssue({ code: 'custom', path: [name], message });
  const [jwksUrl, issuer] = ['HEADRACE_USER_TOKEN_JWKS_URL', 'HEADRACE_USER_TOKEN_ISSUER'] as const;
  if (env[jwksUrl] && !env[issuer]) refuse(issuer, `expected a value, because ${jwksUrl} is set`);
  if (env[issuer] && !env[jwksUrl]) refuse(jwksUrl, `expected a value, because ${issuer} is set`);
  if (env.HEADRACE_PARTITIONS! > env.HEADRACE_SLOTS!)
    refuse(
      'HEADRACE_PARTITIONS',
      `expected ${env.HEADRACE_SLOTS} or less, the number of slots (HEADRACE_SLOTS)`,
    );
  for (const { name, message } of disagreements(env)) refuse(name, message);
}

/** HEADRACE_API_PORT → config.apiPort. */
type Camel<S extends string> = S extends `${infer A}_${infer B}`
  ? `${Lowercase<A>}${Capitalize<Camel<B>>}`
  : Lowercase<S>;
type Setting<Name> = Name extends `HEADRACE_${infer Rest}` ? Camel<Rest> : never;
export type Config = { readonly [K in keyof Environment as Setting<K>]: Environment[K] };
export type ConfigOf<R extends Role> = Omit<Config, Setting<(typeof unusedBy)[R][number]>>;
/** What all who use Kafka have. */
export type OperatorConfig = ConfigOf<'operator'>;

export class ConfigError extends Error {
  readonly code = 'bad_configuration';
}

export function parseConfig<R extends Role = 'all'>(
  given: Record<string, string | undefined>,
  role: R = 'all' as R,
): ConfigOf<R> {
  const unused: readonly string[] = unusedBy[role];
  const isUsed = (name: string) => !unused.includes(name.replace(/_FILE$/, '')) && !unused.includes(name);
  const used = Object.entries(given).filter(([name]) => isUsed(name));
  const { env, problems: ofFiles } = readSecretFiles(Object.fromEntries(used));
  const without: Partial<Record<EnvironmentVariable, true>> = Object.fromEntries(
    unused.map((name) => [name, true]),
  );
  const isUnknown = (name: string) =>
    name.startsWith(prefix) && !(name in environment.shape) && !isClientVariable(name);
  const unknown = Object.keys(env).filter(isUnknown);
  const withOtel = { HEADRACE_OTLP_URL: env.OTEL_EXPORTER_OTLP_ENDPOINT, ...env };
  const parsed = environment.omit(without).superRefine(checkTogether).safeParse(withOtel);
  const problems = [
    ...ofFiles,
    ...unknown.map((name) => `${name}: unknown setting`),
    ...(parsed.error?.issues ?? []).map((issue) => `${String(issue.path[0])}: ${issue.message}`),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems.join('\n'));
  const camel = (name: string) =>
    name
      .slice(prefix.length)
      .toLowerCase()
      .replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return Object.freeze(
    Object.fromEntries(Object.entries(parsed.data).map(([name, value]) => [camel(name), value])),
  ) as unknown as ConfigOf<R>;
}
