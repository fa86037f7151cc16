/** The collection of jobs and its common filters. */
import type { Db, Filter } from 'mongodb';
import type { Config } from '../../../schemas/config.ts';
import { collections } from '../../../schemas/documents.ts';
import { type JobDocument, jobKinds } from '../../../schemas/job-documents.ts';

export type Order = Config['order'];

/** A projection. */
export type Fields<Field extends keyof JobDocument> = Readonly<Record<Field, 1>>;
export type Shown<Field extends keyof JobDocument> = Pick<JobDocument, '_id' | Field>;

export const jobCollection = (db: Db) => db.collection<JobDocument>(collections.jobs);

export const undecidedPhases: JobDocument['phase'][] = ['accepted', 'listed'];
export const isUndecided = ({ phase }: JobDocument) => undecidedPhases.includes(phase);

export const unfinishedPhases: JobDocument['phase'][] = ['accepted', 'listed', 'decided'];
export const unfinished: Filter<JobDocument> = { phase: { $in: unfinishedPhases } };
export const isUnfinished = ({ phase }: JobDocument) => unfinishedPhases.includes(phase);

/** Jobs of any kind. Names all kinds, because in the index by partner the kind precedes the number. */
export const ofPartner = (partner: string): Filter<JobDocument> => ({
  partner,
  kind: { $in: [...jobKinds] },
});

/** The jobs of a lane end in the order of acceptance; jobs of different lanes are independent. */
export const laneOf = ({ partner }: Pick<JobDocument, 'partner'>, order: Order): string =>
  order === 'partner' ? partner : 'service';
