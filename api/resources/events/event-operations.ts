/** Additions to the specification: changes of import logs, audiences and loads as server-sent events. */
import { z } from 'zod';

import { createPlaces, idleMsOf } from '../../http/connections.ts';
import type { Context, Handler } from '../../http/context.ts';
import { read } from '../../http/operation.ts';
import { Problem, unavailable } from '../../http/problem.ts';
import { example, json } from '../../http/responses.ts';
import { doneLoad } from '../audiences/load-records.ts';
import { doneLog } from '../imports/import-records.ts';
import { audiencePath, type Dependencies, firstparty, importPath, marketplace } from '../shared.ts';
import type { RecordEvent } from './event-log.ts';
import { createEventStream } from './event-stream.ts';

const HEARTBEAT_MS = 15_000;

type IsVisible = (event: RecordEvent, scope: Context['state']['scope']) => boolean;

const isImport: IsVisible = ({ name, partner }, scope) => name === 'import' && partner === scope.partner;
const isAudience: IsVisible = ({ name, partner, customer }, scope) =>
  name !== 'import' && partner === scope.partner && (scope.customer === null || customer === scope.customer);

const lastEventId = z.object({
  'Last-Event-ID': z.string().optional().meta({
    description:
      'The `id` of the last event received; the stream resumes after it. Browsers send it automatically.',
  }),
});
const about = (kinds: string) =>
  `A stream of server-sent events that never ends. ${kinds} A burst of changes becomes a few events per second; the last one always shows the newest state. After \`resync\`, something may have been missed: read the lists again. A comment is sent every 15 seconds. To resume after a disconnect, send the \`id\` of the last event in \`Last-Event-ID\`.`;
const streamed = (summary: string, name: string, data: unknown) => ({
  headers: lastEventId,
  responses: {
    200: json(z.string(), 'Events', {
      type: 'text/event-stream',
      examples: {
        events: example(
          summary,
          `retry: 1000\n\nid: 6a1f2c4800000007\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`,
        ),
      },
    }),
  },
  problems: ['too_many_streams'] as const,
});

export function eventOperations({ config, events, metrics }: Dependencies) {
  // An idle connection would be closed.
  const heartbeatMs = Math.min(HEARTBEAT_MS, idleMsOf(config) / 2);
  const takePlace = createPlaces(config.limitStreams);
  const tooMany = () =>
    new Problem(
      'too_many_streams',
      `You have ${config.limitStreams} event streams open, which is the limit. Close one, and retry.`,
      { headers: { 'Retry-After': '5' } },
    );

  const streamOf =
    (isVisible: IsVisible): Handler =>
    async (ctx) => {
      const { scope, limitedAs } = ctx.state;
      const leavePlace = takePlace(limitedAs);
      if (!leavePlace) throw tooMany();
      metrics.streams.inc();
      ctx.res.once('close', () => {
        metrics.streams.dec();
        leavePlace();
      });
      const stream = createEventStream(ctx, heartbeatMs);
      const client = { ...stream.client, isVisible: (event: RecordEvent) => isVisible(event, scope) };
      const membership = await events.join(client, ctx.get('last-event-id'));
      if (!membership) throw unavailable('The service is stopping. Reconnect shortly.');
      // Already answered with an error, or the client has disconnected.
      if (ctx.state.givenUp || !stream.isOpen()) return membership.leave();
      ctx.res.once('close', membership.leave);
      ctx.respond = false;
      stream.begin(membership);
      if (ctx.method === 'HEAD') ctx.res.end();
    };

  const ofImports = read({
    ...marketplace,
    ...streamed('An import has ended', 'import', doneLog),
    path: `${importPath}/events`,
    operationId: 'streamImportEvents',
    summary: 'Stream changes of import logs',
    description: about('`import`: a new or changed import log.'),
    handle: streamOf(isImport),
  });
  const ofAudiences = read({
    ...firstparty,
    ...streamed('A load has ended', 'load', { audience_id: 42, ...doneLoad }),
    path: `${audiencePath}/events`,
    operationId: 'streamAudienceEvents',
    summary: 'Stream changes of audiences and loads',
    description: about(
      '`audience`: a new or changed audience, without its files. `load`: a new or changed load, with its `audience_id`. `deleted`: the `audience_id` of a deleted audience.',
    ),
    handle: streamOf(isAudience),
  });
  return { ofImports, ofAudiences };
}
