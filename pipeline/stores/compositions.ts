/**
 * Composition reports, and claims (leases) on computing them, so that several API processes compute a report once and show the same
 * progress. A claim without a heartbeat belongs to a dead process and is free. All times are on the database's clock.
 */
import type { Db } from 'mongodb';
import type {
  CompositionClaim,
  CompositionDocument,
  CompositionHead,
  CompositionReport,
} from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';
import { type Tuning, tuning } from '../../schemas/tuning.ts';
import type { Scope } from './audiences.ts';
import { type Held, inFreePlace, type PlaceLimits, type Places } from './places.ts';

/** Older failures are not reported. */
const TELL_FAILURE_MS = 60_000;

/** The state of an audience's report, without its large fields. */
interface StoredComposition {
  report?: CompositionHead & { ageMs: number };
  /** Only if alive. */
  claim?: CompositionClaim;
  failedAt?: Date;
}

/** What to compute, and for whom. */
interface ClaimRequest extends Scope {
  audience: number;
  generation: number;
  token: string;
}

type NewReport = Omit<CompositionReport, 'startedAt' | 'computedAt' | 'token'>;

const headFields = ['token', 'generation', 'ended', 'visibility', 'overtaken', 'computedAt'] as const;
const sinceMs = (time: string) => ({ $subtract: ['$$NOW', time] });
const failedLately = { $lte: [sinceMs('$failedAt'), TELL_FAILURE_MS] };

export function createCompositionStore(
  db: Db,
  { compositionDeadMs }: Pick<Tuning, 'compositionDeadMs'> = tuning,
) {
  const compositions = db.collection<CompositionDocument>(collections.compositions);
  const claimIsAlive = {
    $and: [{ $gt: ['$claim', null] }, { $lte: [sinceMs('$claim.heartbeat'), compositionDeadMs] }],
  };
  const claimed = (audience: number, token: string) => ({ _id: audience, 'claim.token': token });

  async function find(audience: number): Promise<StoredComposition> {
    const heads = Object.fromEntries(headFields.map((field) => [field, `$report.${field}`]));
    const withHead = { ...heads, ageMs: sinceMs('$report.computedAt') };
    const [found] = await compositions
      .aggregate<StoredComposition>([
        { $match: { _id: audience } },
        {
          $project: {
            _id: 0,
            failedAt: { $cond: [failedLately, '$failedAt', '$$REMOVE'] },
            claim: { $cond: [claimIsAlive, '$claim', '$$REMOVE'] },
            report: { $cond: [{ $gt: ['$report', null] }, withHead, '$$REMOVE'] },
          },
        },
      ])
      .toArray();
    return found ?? {};
  }

  /** The places of the partner's claims. Places of dead processes are free. */
  async function placesOf(partner: string): Promise<Held[]> {
    const claims = { 'claim.partner': partner, 'claim.place': { $exists: true } };
    const isDead = { $expr: { $not: [claimIsAlive] } };
    await compositions.updateMany({ ...claims, ...isDead }, { $unset: { claim: '' } });
    const found = compositions.find(claims, { projection: { claim: 1 } });
    return (await found.toArray()).map(({ claim }) => claim!);
  }

  async function write(
    { audience, generation, token, partner, customer }: ClaimRequest,
    places: Places,
  ): Promise<CompositionClaim> {
    const stands = { $and: [claimIsAlive, { $gte: ['$claim.generation', generation] }] };
    const ours = {
      $mergeObjects: [
        { $literal: { token, partner, customer, ...places, generation, progress: 0 } },
        { startedAt: '$$NOW', heartbeat: '$$NOW' },
      ],
    };
    const update = [
      {
        $set: {
          claim: { $cond: [stands, '$claim', ours] },
          failedAt: { $cond: [stands, '$failedAt', '$$REMOVE'] },
        },
      },
      { $set: { generation: '$claim.generation' } },
    ];
    const options = { upsert: true, returnDocument: 'after', projection: { claim: 1 } } as const;
    return (await compositions.findOneAndUpdate({ _id: audience }, update, options))!.claim!;
  }

  return {
    find,

    /** The whole report, unless it was replaced. */
    async report(audience: number, token: string): Promise<CompositionReport | undefined> {
      const found = await compositions.findOne(
        { _id: audience, 'report.token': token },
        { projection: { report: 1 } },
      );
      return found?.report;
    },

    /**
     * Claims the computation, unless another process is already computing this generation. Returns the current claim, or `full` if the
     * partner or the customer has too many.
     */
    async claim(wanted: ClaimRequest, limits: PlaceLimits): Promise<CompositionClaim | 'full'> {
      const { claim } = await find(wanted.audience);
      if (claim && claim.generation >= wanted.generation) return claim;
      const { partner, customer } = wanted;
      return inFreePlace({ customer, limits, held: () => placesOf(partner) }, (places) =>
        write(wanted, places),
      );
    },

    /** Heartbeat of the claims, with their progress. */
    async beat(claims: { audience: number; token: string; progress: number }[]): Promise<void> {
      await compositions.bulkWrite(
        claims.map(({ audience, token, progress }) => ({
          updateOne: {
            filter: claimed(audience, token),
            update: [{ $set: { 'claim.heartbeat': '$$NOW', 'claim.progress': { $literal: progress } } }],
          },
        })),
        { ordered: false },
      );
    },

    /** Stores the report if the claim is still ours. Returns the token of the computation that is now obsolete, if any. */
    async finish(audience: number, token: string, report: NewReport): Promise<string | undefined> {
      const times = { startedAt: '$claim.startedAt', computedAt: '$$NOW' };
      const whole = { $mergeObjects: [{ $literal: { ...report, token } }, times] };
      const before = await compositions.findOneAndUpdate(
        claimed(audience, token),
        [{ $set: { report: whole } }, { $unset: ['claim', 'failedAt'] }],
        { returnDocument: 'before', projection: { 'report.token': 1 } },
      );
      return before ? before.report?.token : token;
    },

    fail: (audience: number, token: string) =>
      compositions.updateOne(claimed(audience, token), [
        { $set: { failedAt: '$$NOW' } },
        { $unset: 'claim' },
      ]),

    release: (audience: number, token: string) =>
      compositions.updateOne(claimed(audience, token), { $unset: { claim: '' } }),

    /** Discards an unusable report, so that it is computed again. */
    forget: (audience: number, token: string) =>
      compositions.updateOne({ _id: audience, 'report.token': token }, { $unset: { report: '' } }),

    /** True for one caller only, so that a failure is reported once. */
    async takeFailure(audience: number, failedAt: Date): Promise<boolean> {
      const result = await compositions.updateOne({ _id: audience, failedAt }, { $unset: { failedAt: '' } });
      return result.modifiedCount === 1;
    },

    /** Removes reports of cleared generations. */
    forgetBelow: (audience: number, generation: number) =>
      compositions.deleteOne({ _id: audience, generation: { $lt: generation } }),
  };
}
