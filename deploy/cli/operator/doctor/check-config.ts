/** Checks that the settings are valid and fit for production. */
import packageJson from '../../../../package.json' with { type: 'json' };
import { type Config, ConfigError, parseConfig, type Role } from '../../../../schemas/config.ts';
import { isTestOverride } from '../../../../schemas/tuning.ts';
import { about, type Finding, unless } from './findings.ts';

const node = about('node');
const settings = about('settings');

type Environment = Record<string, string | undefined>;

const oldestNode = packageJson.engines.node.replace('>=', '').split('.').map(Number);

function checkNode(): Finding {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < oldestNode[0]! || (major === oldestNode[0] && minor < oldestNode[1]!))
    return node.problem(`Node ${version}`, `install Node 24, or at least ${oldestNode.join('.')}`);
  if (major < 22) return node.warning(`Node ${version} no longer gets security fixes`, 'install Node 24');
  return node.ok(`Node ${version}`);
}

function risksOf(config: Config, env: Environment): Finding[] {
  const found: Finding[] = [];
  const risk = (setting: string, what: string, advice: string) =>
    found.push(settings.warning(`${setting}: ${what}`, advice));
  if (config.replicationFactor < 3)
    risk(
      'HEADRACE_REPLICATION_FACTOR',
      `topics are created with ${config.replicationFactor} replica${config.replicationFactor === 1 ? '' : 's'}`,
      'set it to 3 on a cluster: with fewer, losing a broker loses messages or stops writes',
    );
  if (config.privacyFloor === 0)
    risk(
      'HEADRACE_PRIVACY_FLOOR',
      'counts of very small audiences are visible',
      'set it to 100, so that an audience of one device does not reveal whether the device is known',
    );
  if (config.allowLoad)
    risk('HEADRACE_ALLOW_LOAD', 'partners may run load tests', 'unset it unless this is a test service');
  if (config.secretOld?.length > 0)
    risk(
      'HEADRACE_SECRET_OLD',
      'old secrets are still accepted',
      'run headrace admin secret rotate, and remove them once it reports that they are no longer needed',
    );
  for (const name of Object.keys(env).filter(isTestOverride))
    risk(name, 'overrides a constant of the service, for tests', 'unset it');
  if (config.publicUrl?.startsWith('http://') && !/\/\/(localhost|127\.|\[::1\])/.test(config.publicUrl))
    risk(
      'HEADRACE_PUBLIC_URL',
      'partners use plain http',
      'terminate TLS in front of the API, and use https://',
    );
  return found;
}

/** The configuration is undefined if it is not valid. */
export function checkConfig(
  env: Environment,
  role: Role = 'all',
): { config: Config | undefined; findings: Finding[] } {
  try {
    // Settings that the role does not use are not checked.
    const config = parseConfig(env, role) as Config;
    const set = Object.keys(env).filter((name) => name.startsWith('HEADRACE_')).length;
    const risks = risksOf(config, env);
    return { config, findings: [checkNode(), settings.ok(`valid; ${set} are set`), ...risks] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const advice = 'headrace config reference prints every setting with its default';
    const problems = error.message.split('\n').map((line) => settings.problem(line, advice));
    return { config: undefined, findings: [checkNode(), ...unless(problems, settings.ok('valid'))] };
  }
}
