/** `headrace webhook listen`: forwards events to a local URL, signed like webhook deliveries. */
import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { audiencePath, importPath } from '../../../api/client/client.ts';
import { plural } from '../../../api/client/format.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { signEvent } from '../../../pipeline/runtime/sign-event.ts';
import { type Paint, printable } from '../../../pipeline/runtime/terminal.ts';
import { statusWord, when } from '../show.ts';
import { interruption } from './exit-codes.ts';
import { readEvents, type ServerEvent } from './read-events.ts';
import type { CommandContext } from './run-command.ts';
import { addCommand } from './subcommands.ts';

/** The same as the service's timeout for receivers. */
const TIMEOUT_MS = 10_000;
const SECRET_BYTES = 32;

interface EndedJob {
  type: string;
  job: number;
  status: 2 | 3;
  body: string;
}

interface Forwarded extends Omit<EndedJob, 'body'> {
  at: string;
  /** null: no response. */
  code: number | null;
  error: string | null;
  duration_ms: number;
}

interface ListenOptions {
  forwardTo: URL;
  secret?: string;
}

/** The webhook event, if the record is of an ended job. */
export function endedJob({ name, data }: ServerEvent): EndedJob | undefined {
  if ((name !== 'import' && name !== 'load') || data.status < 2) return undefined;
  const type = name === 'load' ? 'load.ended' : data.log_type === 1 ? 'deletion.ended' : 'import.ended';
  return {
    type,
    job: data.load_id ?? data.import_log_id,
    status: data.status,
    body: JSON.stringify({ type, timestamp: data.updated_at, data }),
  };
}

async function post(to: URL, { job, body }: EndedJob, secret: string, signal: AbortSignal) {
  const at = new Date();
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const since = performance.now();
  const ended = (code: number | null, error: string | null) => ({
    at: at.toISOString(),
    code,
    error,
    duration_ms: Math.round(performance.now() - since),
  });
  try {
    const response = await fetch(to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': `headrace/${packageJson.version}`,
        // Identifies the event of the job, the same for every attempt.
        ...signEvent({ id: `msg_job_${job}`, at, body }, [secret]),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    await response.body?.cancel();
    return ended(response.status, null);
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) return ended(null, `no answer within ${TIMEOUT_MS / 1_000} s`);
    const { cause, message } = error as Error;
    return ended(null, cause instanceof Error ? cause.message || message : message);
  }
}

function line({ at, type, job, status, code, error, duration_ms }: Forwarded, colours: Paint): string {
  const isDelivered = code !== null && code >= 200 && code < 300;
  const outcome = printable(`${error ?? `answered ${code}`} (${duration_ms} ms)`);
  return `${when(at)}  ${type}  job ${job}  ${statusWord(status, colours)}  ${isDelivered ? outcome : colours.red(outcome)}`;
}

async function listen(context: CommandContext, { forwardTo, secret: given }: ListenOptions): Promise<void> {
  const { api, signal, colours } = context;
  const secret = given ?? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const paths = [`${importPath}/events`, `${audiencePath}/events`];
  const open = new Set<string>();
  const forwarded = new Set<number>();

  const opened = (path: string) => {
    const isReady = open.size === paths.length;
    open.add(path);
    if (isReady || open.size < paths.length) return;
    void context.print({ forward_to: forwardTo.href, secret }, () => [
      `forwarding events to ${forwardTo.href}, signed with ${secret}`,
    ]);
  };
  async function follow(path: string): Promise<void> {
    for await (const event of readEvents(api, path, ended, () => opened(path))) {
      if (event.name === 'resync') context.say('the connection was lost: events may have been missed');
      const job = endedJob(event);
      // A record may change again after its job has ended.
      if (!job || forwarded.has(job.job)) continue;
      forwarded.add(job.job);
      const { body: _, ...shown } = job;
      const sent: Forwarded = { ...shown, ...(await post(forwardTo, job, secret, ended)) };
      await context.print(sent, () => [line(sent, colours)]);
    }
  }
  try {
    await Promise.all(paths.map(follow));
  } catch (error) {
    throw signal.aborted ? interruption(`stopped after ${plural(forwarded.size, 'event')}`) : error;
  } finally {
    failed.abort();
  }
}

function localUrl(text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('expected a URL such as http://localhost:3000/hook');
  return new URL(text);
}

function signingSecret(text: string): string {
  if (!/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(text))
    throw new InvalidArgumentError('expected whsec_ and the secret in base64');
  return text;
}

export function registerListen(group: Command): void {
  addCommand(group, 'listen', 'forward events to a URL on your machine until Ctrl-C, to develop a receiver')
    .requiredOption(
      '--forward-to <url>',
      'where to post events, such as http://localhost:3000/hook',
      localUrl,
    )
    .option('--secret <whsec_…>', 'the secret to sign with (default: a new one, printed)', signingSecret)
    .addHelpText(
      'after',
      '\nForwards the end of every import, deletion and load from now on, with the body and the signature of a webhook. Failed\nrequests are not retried. No webhook is registered.',
    )
    .runs((context, options: ListenOptions) => listen(context, options));
}
