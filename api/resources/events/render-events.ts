/** Reads changed records, and renders them as the REST API does. */
import type { ClientSession } from 'mongodb';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import type { Change, Position } from '../../stores/changes.ts';
import { byAudience, toAudience } from '../audiences/audience-records.ts';
import { type ShownLoad, shownOfLoad, toLoad } from '../audiences/load-records.ts';
import { type ShownJob, shown, toImportLog } from '../imports/import-records.ts';
import type { RecordEvent } from './event-log.ts';

const shownInEvents = { ...shown, ...shownOfLoad, partner: 1, audience: 1, customer: 1 } as const;
type ChangedLoad = ShownLoad & Pick<JobDocument, 'audience' | 'partner' | 'customer'>;
type Owner = Pick<AudienceDocument, '_id' | 'generation' | 'partner' | 'customer'>;

/** Beyond this, no events: dispatch ends the loads anyway. */
const MAX_CANCELLED = 500;

const latest = (a: Position | undefined, b: Position) => (a === undefined || b > a ? b : a);

/** The last change of each record. */
function timesOf(changes: readonly Change[], of: Change['of']): Map<number, Position> {
  const times = new Map<number, Position>();
  for (const change of changes)
    if (change.of === of) times.set(change.id, latest(times.get(change.id), change.at));
  return times;
}

const importEvent = (job: ShownJob & { partner: string }, at: Position): RecordEvent => ({
  at,
  name: 'import',
  id: job._id,
  partner: job.partner,
  customer: null,
  data: JSON.stringify(toImportLog(job)),
});

/** The first load of an audience may be stored before the audience. */
const ownerBefore = ({ audience, generation, partner, customer = null }: ChangedLoad): Owner => ({
  _id: audience!,
  generation: generation!,
  partner,
  customer,
});

function loadEvent(load: ShownLoad, audience: Owner, at: Position): RecordEvent {
  const { partner, customer } = audience;
  const record = { audience_id: audience._id, ...toLoad(load, audience) };
  return { at, name: 'load', id: load._id, partner, customer, data: JSON.stringify(record) };
}

export type RenderEvents = ReturnType<typeof createRenderEvents>;

export function createRenderEvents(
  { jobs, audiences }: Pick<ApiStores, 'jobs' | 'audiences'>,
  privacyFloor: number,
) {
  /** A clear changes what loads show, although dispatch has not touched them yet. */
  async function cancelledIn(changed: AudienceDocument[], session: ClientSession) {
    const everCleared = changed.filter(({ generation }) => generation > 1);
    if (everCleared.length === 0) return [];
    return jobs.cancelledLoads(everCleared, shownInEvents, { limit: MAX_CANCELLED, session });
  }

  return async (changes: readonly Change[], session: ClientSession): Promise<RecordEvent[]> => {
    const jobTimes = timesOf(changes, 'jobs');
    const changedAudiences = timesOf(changes, 'audiences');
    const changed = await jobs.findAll([...jobTimes.keys()], shownInEvents, session);
    const visible = changed.filter(({ phase }) => phase !== 'withdrawn');
    const loads = visible.filter(({ kind }) => kind === 'audience');

    // An audience shows the status of its loads, so a withdrawn load changes it too.
    const audienceTimes = new Map(changedAudiences);
    for (const { _id, audience } of changed)
      if (audience !== null)
        audienceTimes.set(audience, latest(audienceTimes.get(audience), jobTimes.get(_id)!));
    const ids = [...audienceTimes.keys()];
    // Before the audiences: see readOpenLoads.
    const open = byAudience(await jobs.openLoadsOf(ids, session));
    const found = new Map((await audiences.findAll(ids, session)).map((one) => [one._id, one]));
    const isDeleted = (id: number) => found.get(id)?.deletedAt !== undefined;
    const cancelled = await cancelledIn(
      [...found.values()].filter(({ _id }) => changedAudiences.has(_id) && !isDeleted(_id)),
      session,
    );
    return [
      ...visible
        .filter(({ kind }) => kind === 'import' || kind === 'delete')
        .map((job) => importEvent(job, jobTimes.get(job._id)!)),
      ...[
        ...loads.filter(({ audience }) => !isDeleted(audience!)),
        ...cancelled.filter(({ _id }) => !jobTimes.has(_id)),
      ].map((load) => {
        const at = latest(jobTimes.get(load._id), changedAudiences.get(load.audience!) ?? '');
        return loadEvent(load, found.get(load.audience!) ?? ownerBefore(load), at);
      }),
      ...[...found.values()].map((audience): RecordEvent => {
        const { _id: id, partner, customer } = audience;
        const event = { at: audienceTimes.get(id)!, id, partner, customer };
        if (isDeleted(id)) return { ...event, name: 'deleted', data: JSON.stringify({ audience_id: id }) };
        const data = JSON.stringify(toAudience(audience, open, privacyFloor));
        return { ...event, name: 'audience', data };
      }),
    ];
  };
}
