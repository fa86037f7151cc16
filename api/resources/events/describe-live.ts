/** What can be watched while it happens: the progress of a job, and events. */
import type { OpenAPIRegistry } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { progress } from '../../../schemas/http-answers.ts';
import { progresses, streamed } from '../../describe/examples.ts';
import {
  ifNoneMatch,
  json,
  pathId,
  readProblems,
  security,
  tagged,
  userToken,
} from '../../http/responses.ts';

const lastEventId = z.object({
  'Last-Event-ID': z.string().optional().meta({
    description:
      'The `id` of the last event received: what changed since is sent first. Browsers do this by themselves.',
  }),
});

const about = (events: string) =>
  `A stream of server-sent events that never ends. ${events} A burst of changes becomes a few events per second; the last one always shows the newest state. After \`resync\`, something may have been missed: read the lists again. A comment is sent every 15 seconds. To resume after a disconnect, send the \`id\` of the last event in \`Last-Event-ID\`.`;
const importEvents = about('`import`: an import log that is new or has changed.');
const audienceEvents = about(
  '`audience`: an audience that is new or has changed, without its files. `load`: a load that is new or has changed, with its `audience_id`. `deleted`: the `audience_id` of an audience that was deleted.',
);
const stream = (example: keyof typeof streamed) =>
  json(z.string(), 'Events', {
    type: 'text/event-stream',
    examples: { events: streamed[example] },
  });
const progressOf = json(progress, 'The progress', { examples: progresses });
const howFar =
  'How far the job has come, how many jobs are ahead of it, and an estimate of when it ends. Poll it once a second at most.';

export function describeLive(registry: OpenAPIRegistry): void {
  const imports = { tags: ['Marketplace import'], security, method: 'get' as const };
  registry.registerPath({
    ...imports,
    path: '/v1/marketplace/import/events',
    operationId: 'streamImportEvents',
    summary: 'Stream changes of import logs',
    description: importEvents,
    request: { headers: lastEventId },
    responses: { 200: stream('imports'), ...readProblems('too_many_streams') },
  });
  registry.registerPath({
    ...imports,
    path: '/v1/marketplace/import/{import_log_id}/progress',
    operationId: 'getImportProgress',
    summary: 'Get the progress of an import',
    description: howFar,
    request: { headers: ifNoneMatch, params: pathId('import_log_id') },
    responses: { ...tagged(progressOf), ...readProblems('not_found') },
  });
  for (const version of ['v2', 'v1']) describeAudiences(registry, version);
}

function describeAudiences(registry: OpenAPIRegistry, version: string): void {
  const path = `/${version}/firstparty/audience`;
  const suffix = version === 'v2' ? '' : 'V1';
  const tags = [version === 'v2' ? 'Audience ingest' : 'Audience ingest under /v1'];
  const shared = { tags, security, method: 'get' as const };
  registry.registerPath({
    ...shared,
    path: `${path}/events`,
    operationId: `streamAudienceEvents${suffix}`,
    summary: 'Stream changes of audiences and loads',
    description: audienceEvents,
    request: { headers: z.object({ ...userToken.shape, ...lastEventId.shape }) },
    responses: { 200: stream('audiences'), ...readProblems('bad_user_token', 'too_many_streams') },
  });
  registry.registerPath({
    ...shared,
    path: `${path}/{audience_id}/loads/{load_id}/progress`,
    operationId: `getAudienceLoadProgress${suffix}`,
    summary: 'Get the progress of a load',
    description: howFar,
    request: {
      headers: z.object({ ...userToken.shape, ...ifNoneMatch.shape }),
      params: z.object({ ...pathId('audience_id').shape, ...pathId('load_id').shape }),
    },
    responses: { ...tagged(progressOf), ...readProblems('bad_user_token', 'not_found') },
  });
}
