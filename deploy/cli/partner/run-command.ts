/** Runs a partner's command: settings, signals, output. The only place where an error becomes a message and an exit code. */
import type { Command } from 'commander';
import type { ApiClient } from '../../../api/client/client.ts';
import { type Paint, paint, printable, printJson, printLines } from '../../../pipeline/runtime/terminal.ts';
import { createProgressLine, type ProgressLine } from '../progress-line.ts';
import { connectApi } from './connect-api.ts';
import { type CommandError, commandErrorOf, exitCodes, interruption } from './exit-codes.ts';
import { resolveSettings, type Settings } from './settings.ts';

export interface CommandContext {
  /** Lazy, because `login` has none yet. */
  readonly settings: Settings;
  readonly api: ApiClient;
  signal: AbortSignal;
  progress: ProgressLine;
  colours: Paint;
  isJson: boolean;
  timeoutMs?: number;
  /** Data, on standard output: the value with --json, otherwise the lines. */
  print(value: unknown, lines: () => readonly string[]): Promise<void>;
  /** Prints a remark on standard error; with --json, only errors are printed there. */
  say(line: string): void;
}

interface CommonOptions {
  json?: boolean;
  timeout?: number;
}

function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    // A second signal exits at once.
    if (controller.signal.aborted) process.exit(exitCodes.interrupted);
    controller.abort(interruption());
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, abort);
  return controller.signal;
}

function createContext(command: Command, signal: AbortSignal): CommandContext {
  const options = command.opts<CommonOptions>();
  const isJson = options.json === true;
  let settings: Settings | undefined;
  let api: ApiClient | undefined;
  return {
    get settings() {
      settings ??= resolveSettings(options as Record<string, unknown>);
      return settings;
    },
    get api() {
      api ??= connectApi(this.settings, signal, options.timeout);
      return api;
    },
    signal,
    progress: createProgressLine(),
    colours: paint(process.stdout),
    isJson,
    timeoutMs: options.timeout,
    print: (value, lines) =>
      isJson ? printJson(process.stdout, value) : printLines(process.stdout, lines()),
    say: (line) => void (isJson || printLines(process.stderr, [printable(line)])),
  };
}

function tell(error: CommandError, isJson: boolean): void {
  const { red } = paint(process.stderr);
  const [first, ...rest] = error.toLines().map(printable);
  void (isJson
    ? printJson(process.stderr, error.toRecord())
    : printLines(process.stderr, [red(first!), ...rest]));
}

export async function runCommand(
  command: Command,
  work: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const { json } = command.opts<CommonOptions>();
  const signal = abortOnSignals();
  try {
    await work(createContext(command, signal));
  } catch (error) {
    const told = commandErrorOf(error) ?? (signal.aborted ? interruption() : undefined);
    if (told === undefined) throw error;
    tell(told, json === true);
    if (told.exitCode === exitCodes.usage && !json) {
      await printLines(process.stderr, ['']);
      command.outputHelp({ error: true });
    }
    process.exitCode = told.exitCode;
  }
}
