import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const from = (path: string) =>
  JSON.stringify(fileURLToPath(new URL(`../../pipeline/runtime/${path}`, import.meta.url)));

/** The messages that a process logs, and its exit code. */
async function logged(body: string): Promise<{ messages: string[]; code: number }> {
  const script = `
    import { createLogger } from ${from('log.ts')};
    import { createLogLines } from ${from('log-lines.ts')};
    const log = createLogger({ logLevel: 'info' }, 'test', createLogLines());
    ${body}`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  const { stdout, code } = await promisify(execFile)(process.execPath, args).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    (error: { stdout: string; code: number }) => error,
  );
  const messages = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).msg as string);
  return { messages, code };
}
const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

describe('log lines', () => {
  it('are all written, in order', async () => {
    const { messages, code } = await logged(`
      for (let i = 0; i < 3_000; i++) {
        log.info(String(i));
        if (i % 100 === 0) await new Promise(setImmediate);
      }`);
    expect(code).toBe(0);
    expect(messages).toEqual(numbers(3_000));
  });

  it.each([
    ['process.exit', 'process.exit(1);'],
    ['a fatal line', "log.fatal('last'); process.reallyExit(1);"],
    ['an uncaught error', "throw new Error('uncaught');"],
  ])('are written before the process ends by %s', async (_, end) => {
    const { messages, code } = await logged(`for (let i = 0; i < 500; i++) log.info(String(i)); ${end}`);
    expect(code).toBe(1);
    expect(messages.filter((message) => message !== 'last')).toEqual(numbers(500));
  });
});
