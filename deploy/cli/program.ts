/** The root command. A usage error of any command exits with 2 and prints that command's help. */
import { Command, Help } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { toJsonLine } from '../../pipeline/runtime/terminal.ts';
import { exitCodes, usageError } from './partner/exit-codes.ts';

type Exit = (code: number) => never;

const wantsJson = () => process.argv.includes('--json');

/** Commands inherit these settings when they are added. */
export function createProgram(exit: Exit = (code) => process.exit(code)): Command {
  const messageOf = (text: string) => text.replace(/^error: /, '').trim();
  return new Command('headrace')
    .description(packageJson.description)
    .version(packageJson.version)
    .helpCommand(false)
    .showHelpAfterError(!wantsJson())
    .exitOverride(({ exitCode }) => exit(exitCode === 0 ? 0 : exitCodes.usage))
    .configureOutput({
      outputError: (text, write) =>
        write(
          wantsJson()
            ? toJsonLine(usageError(messageOf(text)).toRecord())
            : text.replace(/^error: /, 'headrace: '),
        ),
    })
    .configureHelp({
      optionDescription: (option) =>
        `${Help.prototype.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    });
}
