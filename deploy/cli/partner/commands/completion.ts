/** `headrace completion`: a script for the shell, generated from the commands themselves. */

import { Argument, type Command } from 'commander';
import { printData } from '../../../../pipeline/runtime/terminal.ts';

interface Entry {
  word: string;
  description: string;
}
interface CommandNode {
  /** `headrace import submit` */
  path: string;
  /** Subcommands and allowed values of arguments. */
  commands: Entry[];
  options: Entry[];
}

/** One line without quotes, for a shell script. */
const plain = (text: string) => text.split('\n')[0]!.replace(/['"`$\\:[\]]/g, '');

/** The command and all of its subcommands. */
export function nodesOf(command: Command, parent = ''): CommandNode[] {
  const path = `${parent} ${command.name()}`.trimStart();
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((each) => each.name() !== 'help');
  const options = help
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, description: plain(description) }] : []));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const own = {
    path,
    commands: [
      ...commands.map((each) => ({ word: each.name(), description: plain(each.description()) })),
      ...choices.map((word) => ({ word, description: '' })),
    ],
    options,
  };
  return [own, ...commands.flatMap((each) => nodesOf(each, path))];
}

const words = (entries: readonly Entry[]) => entries.map(({ word }) => word).join(' ');

/** Follows the typed words down the commands; without candidates, files are completed. */
function bash(nodes: readonly CommandNode[]): string {
  const cases = nodes.map(
    ({ path, commands, options }) =>
      `    '${path}') commands='${words(commands)}'; options='${words(options)}' ;;`,
  );
  return `_headrace_entries() {
  case "$1" in
${cases.join('\n')}
    *) commands=''; options='' ;;
  esac
}
_headrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='headrace' commands options word
  _headrace_entries "$path"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ " $commands " == *" $word "* ]]; then path="$path $word"; _headrace_entries "$path"; fi
  done
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$commands" ]]; then COMPREPLY=($(compgen -W "$commands" -- "$current"))
  fi
}
complete -o default -F _headrace headrace
`;
}

function zsh(nodes: readonly CommandNode[]): string {
  const quoted = (entries: readonly Entry[]) =>
    entries.map(({ word, description }) => `'${word}:${description}'`).join(' ');
  const cases = nodes.map(
    ({ path, commands, options }) =>
      `    '${path}') commands=(${quoted(commands)}); options=(${quoted(options)}) ;;`,
  );
  return `#compdef headrace
_headrace_entries() {
  commands=(); options=()
  case "$1" in
${cases.join('\n')}
  esac
}
_headrace() {
  local line='headrace' word
  local -a commands options
  _headrace_entries "$line"
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if (( \${commands[(I)\${(b)word}:*]} )); then line="$line $word"; _headrace_entries "$line"; fi
  done
  if [[ "$words[CURRENT]" == -* ]]; then _describe option options
  elif (( $#commands )); then _describe command commands
  else _files
  fi
}
if [[ "$funcstack[1]" == _headrace ]]; then _headrace "$@"; else compdef _headrace headrace; fi
`;
}

function fish(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const at = `-n '__headrace_at "${path}"'`;
    return [
      ...commands.map(
        ({ word, description }) => `complete -c headrace -f ${at} -a '${word}' -d '${description}'`,
      ),
      ...options.map(
        ({ word, description }) => `complete -c headrace ${at} -l '${word.slice(2)}' -d '${description}'`,
      ),
    ];
  });
  const paths = nodes.map(({ path }) => `'${path}'`).join(' ');
  return `function __headrace_at
  set -l path headrace
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${paths}
      set path "$path $word"
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`;
}

const shells = { bash, zsh, fish };
type Shell = keyof typeof shells;

export const completionScript = (program: Command, shell: Shell): string => shells[shell](nodesOf(program));

export function register(program: Command): void {
  program
    .command('completion')
    .description('print a completion script, for example: source <(headrace completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(shells)))
    .action((shell: Shell) => printData(process.stdout, completionScript(program, shell)));
}
