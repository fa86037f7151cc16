/** Computes and stores the report of an audience and its number of matched devices. */
import { Binary } from 'mongodb';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import type { SetVersion } from '../../stores/set-versions.ts';
import type { Composer } from './composer.ts';

/** A computation that this process has claimed. */
export interface Claimed {
  partner: string;
  /** Who requested it; null: the partner. */
  customer: string | null;
  audience: number;
  generation: number;
  token: string;
}

/** Compares with at most this many audiences, the largest. */
const MAX_COMPARED = 1_000;

export interface ReportDependencies
  extends Pick<ApiStores, 'audiences' | 'compositions' | 'compositionRows' | 'counters' | 'setVersions'> {
  composer: Composer;
  metrics: Metrics;
  log: Logger;
}

/** Which of the sets may have changed between the two. */
function changedBetween(before: SetVersion, after: SetVersion) {
  const isMerging = (part: keyof SetVersion['merging']) => before.merging[part] || after.merging[part];
  return {
    marketplace: isMerging('marketplace') || before.ended.marketplace !== after.ended.marketplace,
    loads: isMerging('loads') || before.ended.loads !== after.ended.loads,
    own: isMerging('own'),
  };
}

export function createComputeReport(deps: ReportDependencies) {
  const { audiences, compositions, compositionRows, counters, setVersions, composer, metrics, log } = deps;

  /** The same customer's audiences first, because a customer sees no others. */
  async function toCompare({ _id, partner, customer }: AudienceDocument) {
    const ofPartner = await audiences.largest({ partner, customer: null }, MAX_COMPARED + 2);
    const ofCustomer =
      customer === null ? ofPartner : await audiences.largest({ partner, customer }, MAX_COMPARED + 2);
    const isOther = (other: { _id: number }) => other._id !== _id;
    const all = new Map([...ofCustomer, ...ofPartner].filter(isOther).map((other) => [other._id, other]));
    const others = [...all.values()]
      .slice(0, MAX_COMPARED)
      .map((other) => ({ audience: other._id, generation: other.generation, devices: other.uniqueDevices }));
    const isWhole = (some: { _id: number }[]) => some.filter(isOther).length <= MAX_COMPARED;
    const compared = { ofCustomer: isWhole(ofCustomer), ofPartner: all.size <= MAX_COMPARED };
    return { others, compared };
  }

  return async (
    claimed: Claimed,
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const since = performance.now();
    const { partner, audience, generation, token } = claimed;
    // Read first: a job that ends after this makes the report outdated.
    const before = await setVersions.of(partner, audience);
    const visibility = await counters.visibility();
    const document = await audiences.find({ partner, customer: null }, audience);
    if (document?.generation !== generation) return void (await compositions.release(audience, token));
    const { others, compared } = await toCompare(document);
    const loadedBy = document.loadedBy ?? 0;
    const composed = await composer.compose(
      { token, partner, audience, generation, loadedBy, others },
      onProgress,
      signal,
    );
    const changed = changedBetween(before, await setVersions.of(partner, audience));
    const isOvertaken = changed.marketplace || changed.loads || visibility !== (await counters.visibility());

    const { devices, matched } = composed;
    // In the middle of a load there may be more matches than the audience shows devices.
    if (!changed.own) await audiences.recordMatched(document, matched);
    await compositionRows.keep(token);
    const unneeded = await compositions.finish(audience, token, {
      ...composed,
      generation,
      ended: before.ended,
      visibility,
      overtaken: isOvertaken,
      others: new Binary(composed.others),
      compared,
    });
    if (unneeded !== undefined) await compositionRows.expire(unneeded);
    const seconds = (performance.now() - since) / 1_000;
    metrics.compositions.observe(seconds);
    log.info(
      { audience, devices, matched, others: others.length, seconds: Math.round(seconds * 100) / 100 },
      'composition computed',
    );
  };
}
