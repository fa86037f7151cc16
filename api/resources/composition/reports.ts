/**
 * The composition reports of audiences. One process recomputes an outdated report; meanwhile requests get its progress. Partners take
 * turns, and within a partner its customers: each partner has one report computed at a time, and several partners share the thread.
 */
import { randomUUID } from 'node:crypto';
import { Binary } from 'mongodb';
import { createFairShare } from '../../../pipeline/runtime/fair-share.ts';
import type {
  CompositionClaim,
  CompositionHead,
  CompositionReport,
} from '../../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { tooManyUnfinished, unavailable } from '../../http/problem.ts';
import { type Claimed, createComputeReport, type ReportDependencies } from './compute-report.ts';

/** Waiting, or being computed. */
const MAX_UNFINISHED = { perPartner: 50, perCustomer: 10 };
/** Each takes some megabytes in the thread. */
const MAX_AT_ONCE = 8;
/** Well below the lease of a claim. */
const BEAT_MS = 1_000;
/** An outdated report is still shown for this long, so that a busy service returns a report at all. */
const SHOW_OVERTAKEN_MS = 10_000;

/** A report to show, or the claim of its computation and the previous report. */
export type Asked = { report: CompositionReport; current: boolean } | Computing;

export interface Computing {
  claim: CompositionClaim;
  previous?: CompositionHead | undefined;
}

export type CompositionReports = ReturnType<typeof createCompositionReports>;

export function createCompositionReports(deps: ReportDependencies) {
  const { audiences, compositions, counters, setVersions, composer, log } = deps;
  const computeReport = createComputeReport(deps);
  const turns = { partners: createFairShare(), lanes: createFairShare() };
  /** Partners whose reports are being computed. */
  const running = new Set<string>();
  /** This process's claims with their progress, oldest first. */
  const held = new Map<Claimed, { progress: number; readonly giveUp: AbortController }>();
  let beating: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function beat(): Promise<void> {
    if (held.size === 0) {
      beating = undefined;
      return;
    }
    const claims = [...held].map(([{ audience, token }, { progress }]) => ({ audience, token, progress }));
    await Promise.all([compositions.beat(claims), giveUpCleared()]).catch((error) =>
      log.warn({ err: error }, 'could not renew the leases of reports'),
    );
    if (!isStopped) beating = setTimeout(beat, BEAT_MS);
  }

  /** The report of a cleared generation is useless. */
  async function giveUpCleared(): Promise<void> {
    const generations = await audiences.generationsOf([...held.keys()].map(({ audience }) => audience));
    for (const [{ audience, generation }, { giveUp }] of held)
      if ((generations.get(audience) ?? 0) > generation) giveUp.abort();
  }

  async function compute(claimed: Claimed): Promise<void> {
    const { audience, token } = claimed;
    const state = held.get(claimed)!;
    const onProgress = (progress: number) => {
      state.progress = progress;
    };
    try {
      await computeReport(claimed, onProgress, state.giveUp.signal);
    } catch (error) {
      if (isStopped) return;
      if (state.giveUp.signal.aborted) {
        log.info({ audience }, 'composition cancelled: the audience was cleared');
        return void (await compositions.release(audience, token).catch(() => {}));
      }
      log.error({ err: error, audience }, 'composition failed: the next request retries it');
      // If this fails too, the lease expires.
      await compositions.fail(audience, token).catch(() => {});
    } finally {
      held.delete(claimed);
    }
  }

  function nextInTurn(): Claimed | undefined {
    const waiting = [...held.keys()].filter(({ partner }) => !running.has(partner));
    const nextPartner = turns.partners.takeTurn(waiting.map(({ partner }) => partner));
    const ofPartner = waiting.filter(({ partner }) => partner === nextPartner);
    const laneOf = ({ partner, customer }: Claimed) => `${partner}/${customer ?? ''}`;
    const lane = turns.lanes.takeTurn(ofPartner.map(laneOf));
    return ofPartner.find((claimed) => laneOf(claimed) === lane);
  }

  function runNext(): void {
    while (running.size < MAX_AT_ONCE && !isStopped) {
      const next = nextInTurn();
      if (!next) return;
      running.add(next.partner);
      void compute(next).finally(() => {
        running.delete(next.partner);
        runNext();
      });
    }
  }

  /** Claims the computation, unless another process has. */
  async function begin(
    { _id, partner, generation }: AudienceDocument,
    customer: string | null,
  ): Promise<CompositionClaim> {
    const claimed = { partner, customer, audience: _id, generation, token: randomUUID() };
    const claim = await compositions.claim(claimed, MAX_UNFINISHED);
    if (claim === 'full') throw tooManyUnfinished('reports', MAX_UNFINISHED, customer);
    if (claim.token !== claimed.token) return claim;
    held.set(claimed, { progress: 0, giveUp: new AbortController() });
    beating ??= setTimeout(beat, BEAT_MS);
    runNext();
    return claim;
  }

  /** The report if it may be shown; null if it was replaced meanwhile. */
  async function shown(
    { _id, partner }: AudienceDocument,
    { token, ended, visibility, overtaken, ageMs }: CompositionHead & { ageMs: number },
  ): Promise<Asked | null | undefined> {
    const [now, visibilityNow] = await Promise.all([setVersions.ended(partner), counters.visibility()]);
    const isSame = now.marketplace === ended.marketplace && now.loads === ended.loads;
    const current = !overtaken && isSame && visibilityNow === visibility;
    // Otherwise a partner could keep outdating other partners' reports by changing visibility.
    if (!current && !((overtaken || isSame) && ageMs < SHOW_OVERTAKEN_MS)) return undefined;
    const report = await compositions.report(_id, token);
    return report ? { report, current } : null;
  }

  /** For the partner, or for one of its customers. */
  async function ask(audience: AudienceDocument, customer: string | null): Promise<Asked> {
    if (audience.uniqueDevices === 0) return { report: reportOfNothing(audience), current: true };
    const { report, claim, failedAt } = await compositions.find(audience._id);
    const previous = report?.generation === audience.generation ? report : undefined;
    if (claim?.generation === audience.generation) return { claim, previous };
    if (failedAt && (await compositions.takeFailure(audience._id, failedAt)))
      throw unavailable('The report could not be computed. Retry to compute it again.');
    const found = previous && (await shown(audience, previous));
    if (found === null) return ask(audience, customer);
    return found ?? { claim: await begin(audience, customer), previous };
  }

  return {
    ask,

    /** Recomputes the report even if it is current. */
    askAnew: async (audience: AudienceDocument, customer: string | null): Promise<Computing> => ({
      claim: await begin(audience, customer),
    }),

    /** Releases the claims: another process takes over immediately. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(beating);
      await composer.close();
      const claims = [...held.keys()];
      await Promise.all(claims.map(({ audience, token }) => compositions.release(audience, token)));
    },
  };
}

/** An audience that was cleared, or has not been loaded yet: there is nothing to compute. */
const reportOfNothing = ({ generation, updatedAt }: AudienceDocument): CompositionReport => ({
  token: '',
  generation,
  ended: { marketplace: 0, loads: 0 },
  visibility: 0,
  overtaken: false,
  startedAt: updatedAt,
  computedAt: updatedAt,
  devices: 0,
  matched: 0,
  marketplaceDevices: null,
  rowParts: 0,
  others: new Binary(),
  compared: { ofCustomer: true, ofPartner: true },
  events: [],
});
