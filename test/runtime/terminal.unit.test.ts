import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isInteractive, paint, printable, table, write } from '../../pipeline/runtime/terminal.ts';

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

it('control characters of data are shown, not obeyed', () => {
  expect(printable('a\x1b[2Jb\u009bc\u202ed\té')).toBe('a\\x1b[2Jb\\x9bc\\u202ed\\x09é');
});

it('a writer waits for a slow reader', async () => {
  const slow = new PassThrough({ highWaterMark: 10 });
  let isWritten = false;
  const written = write(slow, 'x'.repeat(20)).then(() => {
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
  const program = `import(${JSON.stringify(module)}).then(async ({ endSilentlyOnClosedPipe, write }) => {
    endSilentlyOnClosedPipe();
    for (;;) await write(process.stdout, 'line\\n');
  });`;
  const child = spawn(tsx, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
  const complaints = text(child.stderr);
  child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, await complaints]).toEqual([0, '']);
});
