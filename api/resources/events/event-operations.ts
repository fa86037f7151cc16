/** Additions to the specification: changes of import logs, audiences and loads as server-sent events. */

import { idleMsOf } from '../../http/connections.ts';
import type { Context, Handler } from '../../http/context.ts';
import { Problem, unavailable } from '../../http/problem.ts';
import type { Dependencies } from '../shared.ts';
import type { RecordEvent } from './event-log.ts';
import { createEventStream } from './event-stream.ts';

const HEARTBEAT_MS = 15_000;

type IsVisible = (event: RecordEvent, scope: Context['state']['scope']) => boolean;

const isImport: IsVisible = ({ name, partner }, scope) => name === 'import' && partner === scope.partner;
const isAudience: IsVisible = ({ name, partner, customer }, scope) =>
  name !== 'import' && partner === scope.partner && (scope.customer === null || customer === scope.customer);

export function createEvents({ config, events, metrics }: Dependencies) {
  // A connection without traffic is taken for dead.
  const heartbeatMs = Math.min(HEARTBEAT_MS, idleMsOf(config) / 2);
  const open = new Map<string, number>();

  /** A place among the streams of the caller. */
  function takePlace(name: string): () => void {
    const count = open.get(name) ?? 0;
    if (count >= config.limitStreams)
      throw new Problem('too_many_streams', `At most ${config.limitStreams} event streams may be open.`, {
        headers: { 'Retry-After': '5' },
      });
    open.set(name, count + 1);
    metrics.streams.inc();
    return () => {
      metrics.streams.dec();
      const left = open.get(name)! - 1;
      if (left > 0) open.set(name, left);
      else open.delete(name);
    };
  }

  const streamOf =
    (isVisible: IsVisible): Handler =>
    async (ctx) => {
      const { scope, limitedAs } = ctx.state;
      const leavePlace = takePlace(limitedAs);
      ctx.res.once('close', leavePlace);
      const stream = createEventStream(ctx, heartbeatMs);
      const client = { ...stream.client, isVisible: (event: RecordEvent) => isVisible(event, scope) };
      const membership = await events.join(client, ctx.get('last-event-id'));
      if (!membership) throw unavailable('The service is stopping. Reconnect shortly.');
      // Answered with an error meanwhile, or the client has left.
      if (ctx.state.givenUp || !stream.isOpen()) return membership.leave();
      ctx.res.once('close', membership.leave);
      ctx.respond = false;
      stream.begin(membership);
      if (ctx.method === 'HEAD') ctx.res.end();
    };

  return { imports: streamOf(isImport), audiences: streamOf(isAudience) };
}
