/**
 * The composition reports of audiences. A report that is not current is computed anew, by one process, one report at a time; whoever
 * asks meanwhile is told how far it is.
 */
import { randomUUID } from 'node:crypto';
import { Binary } from 'mongodb';
import type {
  CompositionClaim,
  CompositionHead,
  CompositionReport,
} from '../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../schemas/documents.ts';
import { unavailable } from '../problem.ts';
import { type Claimed, createComputeReport, type ReportDependencies } from './compute-report.ts';

/** Well below the time after which a claim counts as dead. */
const BEAT_MS = 1_000;
/** A report that was overtaken while it was computed is shown for so long: a busy system, too, gives answers. */
const SHOW_OVERTAKEN_MS = 10_000;

/** A report to show, or who computes it and what there was before. */
export type Asked = { report: CompositionReport; current: boolean } | Computing;

export interface Computing {
  claim: CompositionClaim;
  previous?: CompositionHead | undefined;
}

export type CompositionReports = ReturnType<typeof createCompositionReports>;

export function createCompositionReports(deps: ReportDependencies) {
  const { audiences, compositions, setVersions, composer, log } = deps;
  const computeReport = createComputeReport(deps);
  /** What this process has claimed, the one that is being computed first, and how far each is. */
  const held = new Map<Claimed, { progress: number; readonly giveUp: AbortController }>();
  let beating: NodeJS.Timeout | undefined;
  let isRunning = false;
  let isStopped = false;

  async function beat(): Promise<void> {
    if (held.size === 0) {
      beating = undefined;
      return;
    }
    const claims = [...held].map(([{ audience, token }, { progress }]) => ({ audience, token, progress }));
    await Promise.all([compositions.beat(claims), giveUpCleared()]).catch((error) =>
      log.warn({ err: error }, 'heartbeat of reports failed'),
    );
    if (!isStopped) beating = setTimeout(beat, BEAT_MS);
  }

  /** Nobody can be shown the report of a generation that was cleared. */
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
        log.info({ audience }, 'composition given up: the audience was cleared');
        return void (await compositions.release(audience, token).catch(() => {}));
      }
      log.error(
        { err: error, audience },
        'composition not computed: it is told to whoever asks, and tried again then',
      );
      // If this fails too, the claim ends for want of a heartbeat.
      await compositions.fail(audience, token).catch(() => {});
    } finally {
      held.delete(claimed);
    }
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let next = held.keys().next(); !next.done; next = held.keys().next()) await compute(next.value);
    isRunning = false;
  }

  /** Claims the computation; if somebody else has, theirs will do. */
  async function begin({ _id, partner, generation }: AudienceDocument): Promise<CompositionClaim> {
    const token = randomUUID();
    const claim = await compositions.claim(_id, generation, token);
    if (claim.token !== token) return claim;
    held.set({ partner, audience: _id, generation, token }, { progress: 0, giveUp: new AbortController() });
    beating ??= setTimeout(beat, BEAT_MS);
    if (!isRunning) void runAll();
    return claim;
  }

  /** The report, if it may be shown. Null: it has been replaced meanwhile. */
  async function shown(
    { _id, partner }: AudienceDocument,
    { token, ended, overtaken, ageMs }: CompositionHead & { ageMs: number },
  ): Promise<Asked | null | undefined> {
    const now = await setVersions.ended(partner);
    const current = !overtaken && now.marketplace === ended.marketplace && now.loads === ended.loads;
    if (!current && !(overtaken && ageMs < SHOW_OVERTAKEN_MS)) return undefined;
    const report = await compositions.report(_id, token);
    return report ? { report, current } : null;
  }

  async function ask(audience: AudienceDocument): Promise<Asked> {
    if (audience.uniqueDevices === 0) return { report: reportOfNothing(audience), current: true };
    const { report, claim, failedAt } = await compositions.find(audience._id);
    const previous = report?.generation === audience.generation ? report : undefined;
    if (claim?.generation === audience.generation) return { claim, previous };
    if (failedAt && (await compositions.takeFailure(audience._id, failedAt)))
      throw unavailable('The report could not be computed. Ask again to have it computed anew.');
    const found = previous && (await shown(audience, previous));
    if (found === null) return ask(audience);
    return found ?? { claim: await begin(audience), previous };
  }

  return {
    ask,

    /** Has the report computed anew, whatever is stored. */
    askAnew: async (audience: AudienceDocument): Promise<Computing> => ({ claim: await begin(audience) }),

    /** Gives up what is being computed: another process, or the next one, takes it over at once. */
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
  overtaken: false,
  computedAt: updatedAt,
  devices: 0,
  matched: 0,
  marketplaceDevices: null,
  attributes: new Binary(),
  others: new Binary(),
  events: [],
});
