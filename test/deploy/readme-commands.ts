/** The commands of the README, run as if pasted into one shell. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandsIn, pages, type Shown } from '../support/documentation.ts';
import { cleanEnvironment } from '../support/run-headrace.ts';
import { patient } from '../support/settings.ts';

/** Commands that this test does not run, with the reason. */
export const notRun: Record<string, string> = {
  'npm test': 'it runs this test',
  'npm test -- test/formats': 'npm test runs these tests',
  'npm run check': 'npm test takes the same steps beside the tests',
  'npm run check:dependencies': 'it asks the package registry',
  'npm start -- --port 9000': 'the port may be taken; ports.unit.test.ts has the rule',
  'npx headrace api': 'it needs a deployment; own-servers.test.ts runs it',
  'npx headrace pipeline': 'it needs a deployment; own-servers.test.ts runs it',
  'npx tsx test/schemas/recorded-messages.ts': 'it writes to the repository',
};

const START = 'npm start';
/** These stop the stack that the other commands need. */
const isStop = ({ command }: Shown) => command.startsWith('npx headrace down');

const shown = commandsIn(pages['README.md']!);
const wanted = shown.filter(({ command }) => !(command in notRun) && command !== START);
export const readme = {
  start: shown.find(({ command }) => command === START)!,
  commands: wanted.filter((one) => !isStop(one)),
  /** `down` before `down --purge`, which leaves nothing to stop. */
  stops: wanted.filter(isStop).sort((a, b) => a.command.length - b.command.length),
  shown: shown.map(({ command }) => command),
};

export interface Ran extends Shown {
  readonly output: string;
}

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));
const EXAMPLE_URL = 'http://127.0.0.1:8080';
const marker = (i: number) => `=== command ${i}`;

/** npx needs a second of CPU time per command to find the file that package.json names. */
function withoutNpx(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const npx = join(bin, 'npx');
  writeFileSync(
    npx,
    `#!/bin/sh\n[ "$1" = headrace ] && shift && exec '${process.execPath}' '${headrace}' "$@"\n`,
  );
  chmodSync(npx, 0o755);
  return bin;
}

/**
 * Runs the commands in `folder`, where the stack keeps its state, against the stack's own port. Rejects with all output if a
 * command fails.
 */
export async function runReadme(commands: readonly Shown[], folder: string, apiUrl: string): Promise<Ran[]> {
  const script = commands
    .map(({ command }, i) => `printf '\\n%s\\n' '${marker(i)}'\n${command.replaceAll(EXAMPLE_URL, apiUrl)}`)
    .join('\n');
  const env = {
    ...cleanEnvironment(),
    ...patient,
    XDG_CONFIG_HOME: join(folder, 'config'),
    PATH: `${withoutNpx(folder)}:${process.env.PATH}`,
  };
  const output = await new Promise<string>((resolve, reject) => {
    const options = { cwd: folder, env, maxBuffer: 100_000_000 };
    execFile('bash', ['-e', '-c', `exec 2>&1\n${script}`], options, (error, text) =>
      error ? reject(new Error(`a command of the README failed:\n${text}`)) : resolve(text),
    );
  });
  return commands.map((one, i) => {
    const from = output.indexOf(`${marker(i)}\n`) + marker(i).length;
    const to = output.indexOf(`${marker(i + 1)}\n`);
    return { ...one, output: output.slice(from, to < 0 ? undefined : to).replaceAll(apiUrl, EXAMPLE_URL) };
  });
}

/** Durations vary. */
const alike = (text: string) => text.replace(/\d+\.\d+ s\b/g, '… s');

/** Lines of the README's output that the command did not print. */
export const missingFrom = ({ output, prints }: Ran): string[] =>
  prints.filter((line) => !alike(output).includes(alike(line)));
