/** `headrace doctor` and `headrace config check`: findings with advice. Changes nothing. */

import { plural } from '../../../../api/client/format.ts';
import { topicName } from '../../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../../pipeline/runtime/log.ts';
import { paint, printable, printJson, printLines, table } from '../../../../pipeline/runtime/terminal.ts';
import type { Role } from '../../../../schemas/config.ts';
import { checkConfig } from './check-config.ts';
import { checkKafka } from './check-kafka.ts';
import { checkMongodb } from './check-mongodb.ts';
import { checkStorage } from './check-storage.ts';
import type { Finding } from './findings.ts';

type Environment = Record<string, string | undefined>;

async function examineAll(env: Environment, role: Role | undefined): Promise<Finding[]> {
  const { config, findings } = checkConfig(env, role);
  if (!config) return findings;
  const log = createLogger({ logLevel: 'silent' }, 'doctor');
  const topic = topicName(config, 'devices');
  const servers = async () => {
    const kafka = await checkKafka(config, log);
    const mongodb = await checkMongodb(config, { topic, partitions: kafka.partitions.get('devices') });
    return [...kafka.findings, ...mongodb];
  };
  const parts = await Promise.all([servers(), role === 'api' ? [] : checkStorage(config)]);
  return [...findings, ...parts.flat()];
}

function print(findings: Finding[], json: boolean | undefined): void {
  const count = (state: Finding['state']) => findings.filter((one) => one.state === state).length;
  const isFine = count('problem') === 0;
  if (json) void printJson(process.stdout, { ok: isFine, findings });
  else {
    const { green, yellow, red, dim } = paint(process.stdout);
    const colour = { ok: green, warning: yellow, problem: red };
    const lines = table(
      findings.map(({ state, check, found }) => [colour[state](state), check, printable(found)]),
    );
    void printLines(process.stdout, [
      ...findings.flatMap(({ advice }, i) => [
        lines[i]!,
        ...(advice ? [`         ${dim(`do: ${printable(advice)}`)}`] : []),
      ]),
      `${count('ok')} ok, ${plural(count('warning'), 'warning')}, ${plural(count('problem'), 'problem')}`,
    ]);
  }
  process.exitCode = isFine ? 0 : 1;
}

export interface DoctorOptions {
  json?: boolean;
  /** Checks only what this role uses. */
  role?: Role;
}

export const doctor = async (env: Environment, { json, role }: DoctorOptions): Promise<void> =>
  print(await examineAll(env, role), json);

export const checkSettings = (env: Environment, { json, role }: DoctorOptions): void =>
  print(checkConfig(env, role).findings, json);
