/** `headrace admin …`, and what a test expects of it. */
import { expect } from 'vitest';
import type { Environment } from '../../deploy/local/addresses.ts';
import { runAdmin } from '../support/run-admin.ts';

/** All of them begin with these words. */
export function adminCommands(env: () => Environment, ...words: string[]) {
  const run = (...args: string[]) => runAdmin([...words, ...args], env());
  /** The message of a command that exits with this code and prints nothing else. */
  const endsWith =
    (expected: number) =>
    async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stdout]).toEqual([expected, '']);
      expect(stderr).not.toMatch(/ at .*\.ts:/);
      return stderr;
    };
  return {
    run,
    // biome-ignore lint/suspicious/noExplicitAny: what the command printed
    async json(...args: string[]): Promise<any> {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    },
    refused: endsWith(1),
    misused: endsWith(2),
  };
}
