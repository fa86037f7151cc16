/** A database with a long history and a few documents that the tests are about. */
import type { Db } from 'mongodb';
import { segmentOf } from '../../pipeline/stores/audiences.ts';
import { fileId } from '../../pipeline/stores/files.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import {
  type FileDocument,
  type JobDocument,
  type JobPhase,
  JobStatus,
} from '../../schemas/job-documents.ts';
import { fillHistory } from '../load/fill-history.ts';
import { insertEnded } from '../support/end-jobs.ts';
import type { Subject } from './all-stores.ts';

export const HISTORY = 3_000;
const partner = 'p-plans';

/** What other jobs, ended or in flight, have left in the stages' collections. */
async function fillStages(db: Db): Promise<void> {
  const many = <T>(make: (i: number) => T) => Array.from({ length: HISTORY }, (_, i) => make(i));
  const of = (i: number) => ({ _id: `other.${i}`, job: 1_000_000 + i, slot: 2 + (i % 14) });
  const fill = (name: string, documents: object[]) => db.collection(name).insertMany(documents);
  await fill(
    collections.ledger,
    many((i) => ({ ...of(i), attempt: 0, file: 0, batch: i })),
  );
  await fill(
    collections.rejects,
    many((i) => ({ ...of(i), file: 0, batch: i, rows: [] })),
  );
  await fill(
    collections.acks,
    many((i) => ({ ...of(i), _id: 16 * (1_000_000 + i) + 2 + (i % 14) })),
  );
  await fill(
    collections.votes,
    many((i) => ({ ...of(i), attempt: 0, partition: 0, missing: [1] })),
  );
  await fill(
    collections.manifests,
    many((i) => ({ _id: `a${i}.1#5`, space: `a${i}.1`, slot: 5 })),
  );
  await fill(
    collections.eventValues,
    many((i) => ({ _id: `1.1.${i}`, audience: 1, generation: 1, number: i })),
  );
  await fill(collections.spills, many(of));
  await fill(
    collections.idempotency,
    many((i) => ({ _id: `k${i}`, createdAt: new Date() }) as object),
  );
  await fill(
    collections.compositions,
    many((i) => ({ _id: 2_000_000 + i, generation: 1 }) as object),
  );
  const later = new Date(Date.now() + 86_400_000);
  const times = { createdAt: new Date(), dueAt: new Date(), giveUpAt: later, expiresAt: later };
  await fill(
    collections.deliveries,
    many((i) => ({
      _id: 10 + i,
      webhook: 2 + (i % 5),
      job: i + 1,
      type: 'import.ended',
      status: (['pending', 'delivered', 'failed'] as const)[i % 3],
      ...times,
    })),
  );
  await fill(collections.webhooks, [
    { url: 'https://a.example/', secrets: [], isActive: true, partner: 'p-other' },
  ]);
  await fill(
    collections.attributes,
    many(
      (i) =>
        ({
          _id: 10 + i,
          partner: 'p-other',
          sequence: 10 + i,
          foreignKey: `f${i}`,
        }) as object,
    ),
  );
  await fill(
    collections.attributes,
    [1, 2].map((_id) => ({ _id, partner, name: 'a', sequence: _id }) as object),
  );
  await fill(collections.partners, [{ _id: partner as never, name: 'Plans', createdAt: new Date() }]);
}

/** An audience with a load, and a job in each phase after the history. */
export async function fillStores(db: Db): Promise<Subject> {
  await fillHistory(db, partner, HISTORY / 2);
  // Another partner's jobs are newer: a backward scan from the newest job has to pass them.
  const last = await fillHistory(db, 'p-other', HISTORY / 2);
  await fillStages(db);
  const jobs = db.collection<JobDocument>(collections.jobs);
  const template = await jobs.findOne({ audience: { $ne: null } }, { projection: { endNumber: 0 } });
  const audienceId = last + 1;
  const load = (id: number, phase: JobPhase): JobDocument => ({
    ...template!,
    _id: id,
    phase,
    requestToken: `token ${id}`,
    status: phase === 'ended' ? JobStatus.done : JobStatus.running,
    audience: audienceId,
    generation: 1,
    audienceName: 'Plans',
    listing: `${id}-plans`,
  });
  const [job, decidedJob, loading, accepted] = (['ended', 'decided', 'listed', 'accepted'] as const).map(
    (phase, i) => load(audienceId + i, phase),
  ) as [JobDocument, JobDocument, JobDocument, JobDocument];
  await insertEnded(db, [job]);
  await jobs.insertMany([decidedJob, loading, accepted]);
  const [file] = await db.collection<FileDocument>(collections.files).find().limit(1).toArray();
  await db.collection<FileDocument>(collections.files).insertMany(
    [job, decidedJob, loading].map(({ _id, listing, audience, generation }) => ({
      ...file!,
      _id: fileId(listing!, 0),
      job: _id,
      listing: listing!,
      audience,
      generation,
      status: _id === job._id ? JobStatus.done : JobStatus.running,
    })),
  );
  const audiences = db.collection<AudienceDocument>(collections.audiences);
  const [known] = await audiences.find().limit(1).toArray();
  const audience = { ...known!, _id: audienceId, segment: segmentOf(audienceId), uniqueDevices: 1 };
  await audiences.insertOne(audience);
  return { partner, job: (await jobs.findOne({ _id: job._id }))!, decidedJob, loading, accepted, audience };
}
