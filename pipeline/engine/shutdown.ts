/**
 * Stops a process in flow order on SIGTERM or SIGINT. All steps share one deadline; work unfinished by then is redelivered, as after a
 * crash.
 */
import type { Logger } from '../runtime/log.ts';

interface Shutdown {
  /** Steps run in the order they were added. */
  add(name: string, step: () => Promise<unknown> | unknown): void;
  /** Stops the process as a signal would. An error is logged and makes the exit code 1. */
  stop(reason: string, error?: unknown): void;
}

/** Checks the code, because an error loses its class on the way from another thread. */
const isRefusal = (error: unknown) => (error as { code?: string }).code === 'start_refused';

export function createShutdown(log: Logger, deadlineMs: number): Shutdown {
  const steps: { name: string; step: () => Promise<unknown> | unknown }[] = [];
  let stopping = false;

  async function run(reason: string, error?: unknown): Promise<void> {
    if (stopping) return;
    stopping = true;
    let exitCode = error === undefined ? 0 : 1;
    if (error === undefined) log.info({ reason }, 'stopping');
    // The operator needs only the message, no stack.
    else if (isRefusal(error)) log.fatal((error as Error).message);
    else log.fatal({ reason, err: error }, 'stopping after an error');
    setTimeout(() => {
      log.error(
        { deadline_ms: deadlineMs },
        'shutdown deadline passed: exiting; unfinished work will be redelivered',
      );
      process.exit(1);
    }, deadlineMs).unref();
    for (const { name, step } of steps) {
      try {
        await step();
      } catch (cause) {
        exitCode = 1;
        // Another thread was refused for the same reason: already logged.
        if (!isRefusal(cause)) log.error({ err: cause, step: name }, 'shutdown step failed');
      }
    }
    log.info('stopped');
    process.exit(exitCode);
  }

  process.once('SIGTERM', () => void run('SIGTERM'));
  process.once('SIGINT', () => void run('SIGINT'));
  process.on('uncaughtException', (error) => void run('uncaught exception', error));
  process.on('unhandledRejection', (error) => void run('unhandled rejection', error));
  return {
    add: (name, step) => void steps.push({ name, step }),
    stop: (reason, error) => void run(reason, error),
  };
}
