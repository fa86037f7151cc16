import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  isInteractive,
  type Output,
  paint,
  printable,
  printData,
  printJson,
  printLines,
  table,
} from '../../pipeline/runtime/terminal.ts';

const pipe = () => new PassThrough();
const terminal = (hasColors = true) =>
  Object.assign(new PassThrough(), { isTTY: true, hasColors: () => hasColors });
const red = '\x1b[31mno\x1b[39m';

describe('colours', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('are for terminals that have them', () => {
    expect(paint(terminal()).red('no')).toBe(red);
    expect(paint(terminal(false)).red('no')).toBe('no');
    expect(paint(pipe()).red('no')).toBe('no');
    expect([isInteractive(terminal()), isInteractive(pipe())]).toEqual([true, false]);
  });

  it('are left out with NO_COLOR', () => {
    vi.stubEnv('NO_COLOR', '1');
    expect(paint(terminal()).red('no')).toBe('no');
  });
});

it('columns are aligned by what is seen, numbers to the right', () => {
  expect(
    table(
      [
        ['NAME', 'SIZE', 'NOTE'],
        [red, '7', ''],
        ['longer', '1200', 'x'],
      ],
      [1],
    ),
  ).toEqual(['NAME    SIZE  NOTE', `${red}         7`, 'longer  1200  x']);
});

describe('control characters of data are shown, not obeyed', () => {
  const hostile = 'a\x1b[2Jb\u009bc\u202ed\té\nf\u2028g';
  const harmless = 'a\\u001b[2Jb\\u009bc\\u202ed\\u0009é\\u000af\\u2028g';
  async function printed(output: PassThrough, print: (stream: Output) => Promise<void>): Promise<string> {
    await print(output);
    output.end();
    return text(output);
  }

  it('in a text', () => expect(printable(hostile)).toBe(harmless));

  it('in lines, of which only our own colours have an effect, and only where there are colours', async () => {
    const foreign = `${hostile}\x1b[8m${red}`;
    const lines = (stream: Output) => printLines(stream, [foreign, 'x']);
    expect(await printed(terminal(), lines)).toBe(`${harmless}\\u001b[8m${red}\nx\n`);
    const without = `${harmless}\\u001b[8m${printable(red)}\nx\n`;
    expect(await printed(terminal(false), lines)).toBe(without);
    expect(await printed(pipe(), lines)).toBe(without);
  });

  it('in JSON, which still says the same', async () => {
    const json = await printed(pipe(), (stream) => printJson(stream, { name: hostile }));
    expect(json).toMatch(/^[\x20-\x7eé]+\n$/);
    expect(JSON.parse(json)).toEqual({ name: hostile });
  });

  it('in other data on a terminal; in a pipe it is exact', async () => {
    const csv = `name\r\n"${hostile}"\r\n`;
    const data = (stream: Output) => printData(stream, csv);
    expect(await printed(pipe(), data)).toBe(csv);
    expect(await printed(terminal(), data)).toBe(`name\n"${harmless.replace('\\u000a', '\n')}"\n`);
  });

  it('no command writes past these functions', () => {
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const files = (readdirSync(join(root, 'deploy/cli'), { recursive: true }) as string[]).map((name) =>
      join('deploy/cli', name),
    );
    const writes = files
      .filter((name) => name.endsWith('.ts'))
      .filter((name) => /std(?:out|err)\.write|console\.\w+\(/.test(readFileSync(join(root, name), 'utf8')));
    expect(writes).toEqual([]);
  });
});

it('a writer waits for a slow reader', async () => {
  const slow = new PassThrough({ highWaterMark: 10 });
  let isWritten = false;
  const written = printLines(slow, ['x'.repeat(20)]).then(() => {
    isWritten = true;
  });
  await Promise.resolve();
  expect(isWritten).toBe(false);
  slow.resume();
  await written;
});

const module = fileURLToPath(new URL('../../pipeline/runtime/terminal.ts', import.meta.url));
const tsx = fileURLToPath(new URL('../../node_modules/.bin/tsx', import.meta.url));

it('a reader that goes away ends a command silently', async () => {
  const program = `import(${JSON.stringify(module)}).then(async ({ endSilentlyOnClosedPipe, printLines }) => {
    endSilentlyOnClosedPipe();
    for (;;) await printLines(process.stdout, ['line']);
  });`;
  const child = spawn(tsx, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
  const complaints = text(child.stderr);
  child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, await complaints]).toEqual([0, '']);
});
