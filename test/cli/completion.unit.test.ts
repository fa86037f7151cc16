import { execFileSync, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { completionScript, nodesOf } from '../../deploy/cli/partner/commands/completion.ts';
import { wholeProgram } from '../support/whole-program.ts';

const program = await wholeProgram();
const isVisible = (name: string) => name !== 'compose-setup';

/** What bash offers for Tab after these words. */
function offered(...words: string[]): string[] {
  const typed = ['headrace', ...words].map((word) => `'${word}'`).join(' ');
  const press = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _headrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const script = `${completionScript(program, 'bash')}\n${press}`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '');
}

it('bash completes commands, their commands, and options', () => {
  expect(offered('')).toEqual(program.commands.map((command) => command.name()).filter(isVisible));
  expect(offered('im')).toEqual(['import']);
  expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(offered('audience', 're')).toEqual(['rename', 'report', 'rejects']);
  expect(offered('import', 'submit', '--fo')).toEqual(['--follow', '--foreign-keys']);
  expect(offered('import', '--json', 'submit', 'file', '--up')).toEqual(['--upload']);
});

it('bash completes files where there is no command to name', () => {
  expect(offered('import', 'submit', 'x')).toEqual([]);
  expect(completionScript(program, 'bash')).toContain('complete -o default');
});

it('zsh and fish know the same commands and options', () => {
  for (const { path, commands, options } of nodesOf(program)) {
    for (const shell of ['zsh', 'fish'] as const) {
      const script = completionScript(program, shell);
      expect(script).toContain(path);
      for (const { word } of [...commands, ...options]) expect(script).toContain(word.replace(/^--/, ''));
    }
  }
});

for (const shell of ['zsh', 'fish'] as const)
  it.runIf(spawnSync(shell, ['-c', 'true']).status === 0)(`${shell} can read its script`, () => {
    const input = completionScript(program, shell);
    const checked = spawnSync(shell, ['--no-execute', '/dev/stdin'], { input, encoding: 'utf8' });
    expect([checked.status, checked.stderr]).toEqual([0, '']);
  });
