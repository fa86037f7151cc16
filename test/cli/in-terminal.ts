/** A command in a terminal, which script(1) provides; typed text goes to its standard input. */
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '../support/run-headrace.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Variables } from './partner.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));

/** script(1) of util-linux; other versions take other options. */
export const hasTerminals = spawnSync('script', ['-qefc', 'true', '/dev/null']).status === 0;

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Node reads these for the number of colours before TERM; with `CI`, a terminal has none. */
const colourSettings = [
  'CI',
  'COLORTERM',
  'FORCE_COLOR',
  'NO_COLOR',
  'NODE_DISABLE_COLORS',
  'TEAMCITY_VERSION',
  'TMUX',
];
const withoutColourSettings = (variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !colourSettings.includes(name)));

export function startInTerminal(args: readonly string[], variables: Variables) {
  const command = `stty cols 120 rows 40; exec ${[process.execPath, headrace, ...args].map(quoted).join(' ')}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...withoutColourSettings(cleanEnvironment()), TERM: 'xterm-256color', ...variables },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.on('data', (chunk) => {
    screen += chunk;
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    screen: () => screen,
    /** Types once the screen shows this text. */
    async type(text: string, after: string): Promise<void> {
      await waitFor(() => screen.includes(after), { what: `${after} on the screen` });
      child.stdin.write(text);
    },
    async end(): Promise<{ code: number | null; screen: string }> {
      const ended = await code;
      return { code: ended, screen };
    },
  };
}
