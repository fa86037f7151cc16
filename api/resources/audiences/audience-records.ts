/** Audience records as the specification defines them. */
import type { Scope } from '../../../pipeline/stores/audiences.ts';
import type { OpenLoad as OpenJob } from '../../../pipeline/stores/jobs/jobs.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { type JobPhase, JobStatus } from '../../../schemas/job-documents.ts';
import type { Context } from '../../http/context.ts';
import { notFound } from '../../http/problem.ts';
import { parseId } from '../../http/validate.ts';
import type { ApiStores } from '../../stores/api-stores.ts';

const running: JobPhase[] = ['listed', 'decided'];

interface OpenLoad {
  /** 1 if any load is running, otherwise 0. */
  status: 0 | 1;
  /** The latest change of any of them, because an append changes the audience. */
  updatedAt: Date;
}
/** Pending and running loads. */
export interface OpenLoads {
  /** Of this generation of the audience. */
  of(audience: Pick<AudienceDocument, '_id' | 'generation'>): OpenLoad | undefined;
  /** The audiences with open loads. */
  audiences(): number[];
}

/**
 * The privacy floor hides counts below it, zero included, and all counts of a smaller audience: an audience of one device would reveal
 * what is known about it. It does not protect against differencing two reports.
 */
type Floor = (count: number) => number | null;

export const createFloor =
  (floor: number, audienceDevices: number): Floor =>
  (count) =>
    audienceDevices < floor || count < floor ? null : count;

const latest = (a: Date, b: Date) => (a > b ? a : b);

export function byAudience(loads: OpenJob[]): OpenLoads {
  const open = new Map<string, OpenLoad>();
  for (const { audience, generation, phase, updatedAt } of loads) {
    const key = `${audience}.${generation}`;
    const status = running.includes(phase) ? JobStatus.running : JobStatus.pending;
    const known = open.get(key) ?? { status, updatedAt };
    open.set(key, {
      status: known.status === JobStatus.running ? known.status : status,
      updatedAt: latest(known.updatedAt, updatedAt),
    });
  }
  return {
    of: ({ _id, generation }) => open.get(`${_id}.${generation}`),
    audiences: () => [...new Set(loads.map(({ audience }) => audience!))],
  };
}

/**
 * Read before the audiences: a load that ends in between then shows as running with its final counts, not as done with stale counts.
 */
export const readOpenLoads = async (
  { jobs }: ApiStores,
  partner: string,
  audience?: number,
): Promise<OpenLoads> => byAudience(await jobs.openLoads(partner, audience));

/** A match count below the privacy floor is shown as 0: the field is a number by the specification. */
export function toAudience(audience: AudienceDocument, openLoads: OpenLoads, privacyFloor: number) {
  const open = openLoads.of(audience);
  const showMatched = createFloor(privacyFloor, audience.uniqueDevices);
  return {
    audience_id: audience._id,
    name: audience.name,
    // Below 0 until a load has ended of which a privacy request has removed devices.
    unique_devices: Math.max(0, audience.uniqueDevices),
    default_warehouse_segment_id: audience.segment,
    status: open?.status ?? audience.outcome,
    created_at: audience.createdAt,
    updated_at: open ? latest(open.updatedAt, audience.updatedAt) : audience.updatedAt,
    uploaded_devices: audience.uploadedDevices,
    matched_devices: Math.max(0, showMatched(audience.matchedDevices) ?? 0),
    matched_at: audience.matchedAt ?? null,
    matched_by: audience.matchedBy ?? 'load',
    rows_rejected: Object.fromEntries(Object.entries(audience.rejected ?? {}).filter(([, rows]) => rows > 0)),
    generation: audience.generation,
    cleared_at: audience.lastClearedAt ?? null,
  };
}

/** The audience, created from its job if the process that accepted the job died before it could. */
export async function resolveAudience(
  { audiences, jobs }: ApiStores,
  scope: Scope,
  id: number,
): Promise<AudienceDocument | null> {
  const audience = await audiences.find(scope, id);
  if (audience) return audience;
  const maker = await jobs.findMaker(scope, id);
  // From then on its request cannot fail: otherwise the audience of a request that was answered with an error would stay.
  const job = maker && (await jobs.promise(maker));
  if (!job || job.phase === 'withdrawn') return null;
  await audiences.ensure(job);
  return audiences.find(scope, id);
}

/** The audience that the path names. */
export async function audienceOf(stores: ApiStores, ctx: Context): Promise<AudienceDocument> {
  const audience = await resolveAudience(stores, ctx.state.scope, parseId(ctx.params.audience_id));
  if (!audience) throw notFound();
  return audience;
}
