/** Usage errors name the option, print the command's help and exit with 2, before any server is contacted. */
import type { Command } from 'commander';
import { describe, expect, test, vi } from 'vitest';
import { parsePlace } from '../../deploy/cli/operator/options.ts';
import { Exited, wholeProgram } from '../support/whole-program.ts';
import { hasTerminals, startInTerminal } from './in-terminal.ts';

/** The message printed instead of running the command, and the exit code. */
async function refusalOf(args: readonly string[]): Promise<{ code: number; said: string }> {
  let said = '';
  const load = () => {
    throw new Error('the command was not refused');
  };
  const program = await wholeProgram(
    args[0],
    { load, expectedStack: load },
    {
      writeErr: (text) => {
        said += text;
      },
    },
  );
  const error = await program.parseAsync(args, { from: 'user' }).catch((cause) => cause);
  if (!(error instanceof Exited)) throw error;
  return { code: error.code, said };
}

const commandsIn = (command: Command, path: readonly string[] = []): { path: string[]; command: Command }[] =>
  command.commands.flatMap((each) => {
    const own = [...path, each.name()];
    return each.commands.length > 0 ? commandsIn(each, own) : [{ path: own, command: each }];
  });
const all = commandsIn(await wholeProgram());
const nameOf = (path: readonly string[]) => path.join(' ');

describe('wrong usage exits with 2 and prints the help of the command', () => {
  test.each(all.map(({ path }) => [nameOf(path)]))('headrace %s', async (name) => {
    const { code, said } = await refusalOf([...name.split(' '), '--no-such-option']);
    expect(code).toBe(2);
    expect(said).toMatch(
      /^headrace: (?:unknown option '--no-such-option'|required option [^\n]* not specified)\n/,
    );
    expect(said).toContain(`Usage: headrace ${name} `);
  });

  test.each(['import', 'admin', 'admin key'])('headrace %s, without a command of its own', async (name) => {
    const { code, said } = await refusalOf(name.split(' '));
    expect([code, said]).toEqual([2, expect.stringContaining(`Usage: headrace ${name} `)]);
  });

  test('an unknown command', async () => {
    const { code, said } = await refusalOf(['audience', 'shwo', '1']);
    expect([code, said]).toEqual([2, expect.stringContaining('(Did you mean show?)')]);
  });
});

describe('a bad value names its option', () => {
  test.each([
    ['up --port 65536', "option '--port <n>'"],
    ['up --mongod-cache-gb much', "option '--mongod-cache-gb <n>'"],
    // Two brokers would be worse than one.
    ['up --brokers 2', 'expected 1 or 3'],
    ['pipeline --stages split,sing', "option '--stages <list>'"],
    ['admin partner create --name \n', "option '--name <name>'"],
    ['import list --status nice', "option '--status <status>'"],
    ['tap nothing', "argument 'topics'"],
    ['tap jobs --job x', "option '--job <number>'"],
    ['tap jobs --type x', "option '--type <name>'"],
    ['tap jobs --from yesterday', "option '--from <place>'"],
    ['tap jobs --until 2026-99-99', "option '--until <place>'"],
    ['tap jobs --limit 0', "option '--limit <n>'"],
    ['tap jobs --format xml', "option '--format <format>'"],
    ['replay', 'expected one of <topic>, --job and --dead-letters'],
    ['replay rows --job 1', 'expected one of <topic>, --job and --dead-letters'],
    ['replay rows --json', '--json needs --yes or --dry-run'],
    ['admin attribute visibility --attribute 1', 'expected --public or --private'],
    ['webhook listen --forward-to localhost', "option '--forward-to <url>'"],
    ['webhook listen --forward-to http://localhost --secret x', "option '--secret <whsec_…>'"],
  ])('headrace %s', async (args, named) => {
    const { code, said } = await refusalOf(args.split(' '));
    expect([code, said]).toEqual([2, expect.stringContaining(named)]);
  });
});

const loggedIn = '--api-url http://127.0.0.1:1 --api-key x';
/** The arguments of each command that cannot be undone. */
const permanent: Record<string, string> = {
  'admin attribute delete': '--attribute 1',
  'admin job cancel': '1',
  'admin job drop': '1',
  'admin key revoke': '--key hr_ab12cd34',
  'admin partner suspend': '--partner p',
  'admin privacy request': 'ids.txt --type delete',
  'admin storage-key retire': '--partner p',
  'admin token-key retire': '--key tk_ab12cd34',
  'admin webhook remove': '--partner p --webhook 1',
  'attribute delete': `1 ${loggedIn}`,
  'audience clear': `1 ${loggedIn}`,
  'audience delete': `1 ${loggedIn}`,
  'import delete': '1',
  'privacy request': `ids.txt --type delete ${loggedIn}`,
  'webhook remove': `1 ${loggedIn}`,
};

describe('a change that cannot be undone', () => {
  test('has --yes, and nothing else has it', () => {
    const withYes = all.filter(({ command }) => command.options.some(({ long }) => long === '--yes'));
    // `down` asks only with --purge and if there is something to delete (local-stack.test.ts); `replay` announces what it will do
    // (replay.test.ts).
    expect(withYes.map(({ path }) => nameOf(path)).sort()).toEqual(
      [...Object.keys(permanent), 'down', 'replay'].sort(),
    );
    const sounds = /^(?:cancel|clear|delete|drop|remove|retire|revoke|suspend)$/;
    expect(
      all.map(({ path }) => path).filter((path) => sounds.test(path.at(-1)!) && !(nameOf(path) in permanent)),
    ).toEqual([]);
  });

  test.each(Object.entries(permanent))(
    '%s is refused without a terminal and without --yes',
    async (name, args) => {
      const { code, said } = await refusalOf([...name.split(' '), ...args.split(' ')]);
      expect(code).toBe(2);
      expect(said).toMatch(/^headrace: not a terminal: pass --yes to confirm\n/);
      expect(said).toContain(`Usage: headrace ${name} `);
    },
  );

  test.runIf(hasTerminals)('asks at a terminal, and Enter alone changes nothing', async () => {
    // Nothing listens there: a request would fail differently.
    const terminal = startInTerminal(['audience', 'delete', '1', ...loggedIn.split(' ')], {});
    await terminal.type('\r', 'Delete audience 1 permanently?');
    const { code, screen } = await terminal.end();
    expect([code, screen]).toEqual([1, expect.stringContaining('headrace: nothing was changed')]);
  });
});

describe('a place of tap', () => {
  const now = Date.parse('2026-11-16T08:00:00Z');

  test.each([
    ['beginning', 'beginning'],
    ['end', 'end'],
    ['0', { offset: 0n }],
    ['9007199254740993', { offset: 9007199254740993n }],
    ['-10m', { time: now - 600_000 }],
    ['+2d', { time: now + 172_800_000 }],
    ['2026-11-16T07:30:00Z', { time: now - 1_800_000 }],
    ['2026-11-16', { time: now - 8 * 3_600_000 }],
  ])('%s is a place', (text, place) => {
    vi.useFakeTimers({ now });
    expect(parsePlace(text)).toEqual(place);
    vi.useRealTimers();
  });

  test.each(['', 'now', '10m', '-10', '-10y', '-1', '1.5', '2026-13-01', '1e3'])('%j is none', (text) => {
    expect(() => parsePlace(text)).toThrow('expected beginning, end, -10m');
  });
});
