/** An error that the user can act on is printed as one message; any other is a bug and is printed with its stack trace. */
import { StartError } from '../local/start-error.ts';

const badConfiguration = 2;
const interrupted = 130;

/** Kafka's client names the address that refused. */
const isUnreachable = (error: unknown): error is Error =>
  error instanceof Error && /ECONNREFUSED|ENOTFOUND|ETIMEDOUT/.test(error.message);

export function tellAndExit(error: unknown): never {
  const code = (error as { code?: unknown }).code;
  if ((error as Error).name === 'AbortError') {
    process.stderr.write('interrupted before everything was up; the next start continues from here\n');
    process.exit(interrupted);
  }
  if (code === 'bad_configuration') {
    process.stderr.write(`${(error as Error).message}\n`);
    if (['admin', 'tap', 'replay'].includes(process.argv[2] ?? '') && !process.argv.includes('--state'))
      process.stderr.write('For the stack of npm start, add --state .headrace.\n');
    process.exit(badConfiguration);
  }
  if (error instanceof StartError || isUnreachable(error))
    process.stderr.write(`headrace: ${error.message}\n`);
  else process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  process.exit(1);
}
