/** Audience records as the specification has them. */
import type { Db } from 'mongodb';
import { ensureAudience, findAudience, inScope, type Scope } from '../../pipeline/stores/audiences.ts';
import {
  type AudienceDocument,
  collections,
  type JobDocument,
  type JobPhase,
  JobStatus,
} from '../../schemas/documents.ts';

const waiting: JobPhase[] = ['accepted'];
const running: JobPhase[] = ['loading', 'sealed'];

const jobs = (db: Db) => db.collection<JobDocument>(collections.jobs);

type Load = Pick<JobDocument, 'audience' | 'generation' | 'phase' | 'updatedAt'>;

interface OpenLoad {
  /** 1 where one runs, else 0. */
  status: 0 | 1;
  /** When the newest of them last changed: an append changes the audience. */
  updatedAt: Date;
}
/** Waiting and running loads by audience and generation. */
export type OpenLoads = (audience: Pick<AudienceDocument, '_id' | 'generation'>) => OpenLoad | undefined;

const latest = (a: Date, b: Date) => (a > b ? a : b);

function byAudience(loads: Load[]): OpenLoads {
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
  return ({ _id, generation }) => open.get(`${_id}.${generation}`);
}

/**
 * To be read before the audiences: a load that ends in between then shows as running with its final counts, where the
 * other order would show it as done with the counts from before.
 */
export async function readOpenLoads(db: Db, partner: string, audience?: number): Promise<OpenLoads> {
  const loads = await jobs(db)
    .find(
      {
        partner,
        kind: 'audience',
        phase: { $in: [...waiting, ...running] },
        ...(audience === undefined ? {} : { audience }),
      },
      { projection: { _id: 0, audience: 1, generation: 1, phase: 1, updatedAt: 1 } },
    )
    .toArray();
  return byAudience(loads);
}

export function toAudience(audience: AudienceDocument, openLoads: OpenLoads) {
  const open = openLoads(audience);
  return {
    audience_id: audience._id,
    name: audience.name,
    unique_devices: audience.uniqueDevices,
    default_warehouse_segment_id: audience.segment,
    status: open?.status ?? audience.outcome,
    created_at: audience.createdAt,
    updated_at: open ? latest(open.updatedAt, audience.updatedAt) : audience.updatedAt,
    uploaded_devices: audience.uploadedDevices,
    matched_devices: audience.matchedDevices,
  };
}

export const listAudiences = (
  db: Db,
  scope: Scope,
  { before, limit = 0 }: { before?: number; limit?: number },
) =>
  db
    .collection<AudienceDocument>(collections.audiences)
    .find({ ...inScope(scope), ...(before === undefined ? {} : { _id: { $lt: before } }) })
    .sort({ _id: -1 })
    .limit(limit);

/** The audience, made from its job if the process that accepted it did not live to. */
export async function resolveAudience(db: Db, scope: Scope, id: number): Promise<AudienceDocument | null> {
  const audience = await findAudience(db, scope, id);
  if (audience) return audience;
  const job = await jobs(db).findOne({
    _id: id,
    kind: 'audience',
    audience: id,
    phase: { $ne: 'withdrawn' },
    ...inScope(scope),
  });
  if (!job) return null;
  await ensureAudience(db, job);
  return findAudience(db, scope, id);
}
