/**
 * The configuration: parsed from the environment once, validated, frozen. An error names the variable and what was expected.
 * deploy/config/minimal.env has the settings without a default; `headrace config reference` prints all of them.
 */
import { z } from 'zod';
import { isClientVariable } from './client-variables.ts';
import { disagreements, kafka, mongo, storage } from './connections.ts';
import { readSecretFiles } from './secret-files.ts';
import * as service from './service-settings.ts';
import { isTestOverride, readTuning, type Tuning } from './tuning.ts';

/** In reference order. */
export const settingGroups = {
  Kafka: kafka,
  MongoDB: mongo,
  S3: storage,
  'Secrets and user tokens': service.secrets,
  'Addresses to listen on': service.addresses,
  'Logs, traces and audit': service.observability,
  'Topics and consumer groups': service.topics,
  'Retention in days': service.retention,
  'Threads, memory and timeouts': service.capacity,
  'Files and reports': service.files,
  'Limits per partner and API key': service.limits,
  'Deletion requests from DROP': service.drop,
  'Test installations': service.testInstallations,
};
type Groups = (typeof settingGroups)[keyof typeof settingGroups];
type Merged<G> = (G extends unknown ? (group: G) => void : never) extends (all: infer All) => void
  ? All
  : never;
const environment = z.object(Object.assign({}, ...Object.values(settingGroups)) as Merged<Groups>);

const prefix = 'HEADRACE_';
type Environment = z.output<typeof environment>;
export type EnvironmentVariable = keyof Environment;
export const environmentVariables = Object.keys(environment.shape) as EnvironmentVariable[];

const namesOf = <G extends object>(group: G) => Object.keys(group) as (keyof G & EnvironmentVariable)[];
const secrets = ['HEADRACE_SECRET', 'HEADRACE_SECRET_OLD'] as const;

/** Settings that a role does not use are neither required nor read, so that no process needs another's secrets. */
const unusedBy = {
  all: [] as never[],
  api: ['HEADRACE_PARTNER_S3_ENDPOINT', 'HEADRACE_S3_ISSUER', 'HEADRACE_DROP_API_KEY'],
  pipeline: [] as never[],
  admin: namesOf(kafka),
  /** tap, topics and replay. */
  operator: [...namesOf(storage), ...secrets, ...namesOf(service.drop)],
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
export type Config = { readonly [K in keyof Environment as Setting<K>]: Environment[K] } & Tuning;
export type ConfigOf<R extends Role> = Omit<Config, Setting<(typeof unusedBy)[R][number]>>;
/** The settings of every process that uses Kafka. */
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
  const isKnown = (name: string) =>
    name in environment.shape || isClientVariable(name) || isTestOverride(name);
  const unknown = Object.keys(env).filter((name) => name.startsWith(prefix) && !isKnown(name));
  const { tuned, problems: ofTests } = readTuning(env);
  const withOtel = { HEADRACE_OTLP_URL: env.OTEL_EXPORTER_OTLP_ENDPOINT, ...env };
  const parsed = environment.omit(without).superRefine(checkTogether).safeParse(withOtel);
  const problems = [
    ...ofFiles,
    ...ofTests,
    ...unknown.map((name) => `${name}: unknown setting`),
    ...(parsed.error?.issues ?? []).map((issue) => `${String(issue.path[0])}: ${issue.message}`),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems.join('\n'));
  const camel = (name: string) =>
    name
      .slice(prefix.length)
      .toLowerCase()
      .replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  const settings = Object.entries(parsed.data).map(([name, value]) => [camel(name), value]);
  return Object.freeze({ ...Object.fromEntries(settings), ...tuned }) as unknown as ConfigOf<R>;
}
