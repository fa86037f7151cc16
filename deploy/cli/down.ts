import { takeDown } from '../local/stack.ts';
import { readState } from '../local/state.ts';
import { sayOnStderr } from './up.ts';

export async function down({
  state,
  purge,
  json,
}: {
  state: string;
  purge?: boolean;
  json?: boolean;
}): Promise<void> {
  const stopped = Object.keys(readState(state)?.state.processes ?? {});
  await takeDown(state, sayOnStderr, { purge });
  if (stopped.length === 0) sayOnStderr(`nothing is running in state folder ${state}`);
  if (json) process.stdout.write(`${JSON.stringify({ stopped, purged: Boolean(purge) })}\n`);
}
