/** An error that the user can act on is printed as one message; any other is a bug and is printed with its stack trace. */
import { StartError } from '../local/start-error.ts';
import { namesServers } from './environment.ts';

const badConfiguration = 2;
const interrupted = 130;

/** Kafka's client names the address that refused. */
const isUnreachable = (error: Error) => /ECONNREFUSED|ENOTFOUND|ETIMEDOUT/.test(error.message);
const isForTheUser = (error: unknown): error is Error =>
  error instanceof StartError ||
  (error instanceof Error &&
    (['CommandFailed', 'StartRefused', 'ProvisioningError'].includes(error.name) || isUnreachable(error)));

export function tellAndExit(error: unknown): never {
  const code = (error as { code?: unknown }).code;
  if ((error as Error).name === 'AbortError') {
    process.stderr.write('interrupted before everything was up; the next start continues from here\n');
    process.exit(interrupted);
  }
  if (code === 'bad_configuration') {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(badConfiguration);
  }
  if (!isForTheUser(error)) process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  else {
    process.stderr.write(`headrace: ${error.message}\n`);
    if (code === 'server_down' && !namesServers(process.env))
      process.stderr.write('headrace status shows the local stack; headrace up starts it.\n');
  }
  process.exit(1);
}
