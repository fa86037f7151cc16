/** Prints an error that the user can act on as one message; any other is a bug and is printed with its stack trace. */
import { withSourcePositions } from '../../pipeline/runtime/source-positions.ts';
import { printLines } from '../../pipeline/runtime/terminal.ts';
import { StartError } from '../local/start-error.ts';
import { namesServers } from './environment.ts';

const badConfiguration = 2;
const interrupted = 130;

/** Kafka's client names the address that refused. */
const isUnreachable = (error: Error) => /ECONNREFUSED|ENOTFOUND|ETIMEDOUT/.test(error.message);
const isForTheUser = (error: unknown): error is Error =>
  error instanceof StartError ||
  (error instanceof Error &&
    (['CommandError', 'CommandFailed', 'StartRefused', 'ProvisioningError'].includes(error.name) ||
      isUnreachable(error)));

const tell = (text: string) => void printLines(process.stderr, text.split('\n'));

export function tellAndExit(error: unknown): never {
  const code = (error as { code?: unknown }).code;
  if ((error as Error).name === 'AbortError') {
    tell('interrupted before everything was up; the next start continues from here');
    process.exit(interrupted);
  }
  if (code === 'bad_configuration') {
    tell((error as Error).message);
    process.exit(badConfiguration);
  }
  if (!isForTheUser(error)) tell(withSourcePositions((error as Error).stack ?? String(error)));
  else {
    tell(`headrace: ${error.message}`);
    if (code === 'server_down' && !namesServers(process.env))
      tell('headrace status shows the local stack; headrace up starts it.');
  }
  process.exit(1);
}
