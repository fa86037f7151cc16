/** Computes the report of an audience and stores it, and with it the number of all matches. */
import { Binary } from 'mongodb';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { SetVersion } from '../../pipeline/stores/set-versions.ts';
import type { Metrics } from '../metrics.ts';
import type { ApiStores } from '../stores.ts';
import type { Composer } from './composer.ts';

/** A computation that this process has claimed. */
export interface Claimed {
  partner: string;
  audience: number;
  generation: number;
  token: string;
}

export interface ReportDependencies extends Pick<ApiStores, 'audiences' | 'compositions' | 'setVersions'> {
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
  const { audiences, compositions, setVersions, composer, metrics, log } = deps;

  return async (
    claimed: Claimed,
    onProgress: (progress: number) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const since = performance.now();
    const { partner, audience, generation, token } = claimed;
    // Before anything else is read: whatever ends after this makes the report an old one.
    const before = await setVersions.of(partner, audience);
    const document = await audiences.find({ partner, customer: null }, audience);
    if (document?.generation !== generation) return void (await compositions.release(audience, token));
    const all = await audiences.withDevices(partner);
    const others = all
      .filter(({ _id }) => _id !== audience)
      .map((other) => ({ audience: other._id, generation: other.generation, devices: other.uniqueDevices }));
    const loadedBy = document.loadedBy ?? 0;
    const composed = await composer.compose({ audience, generation, loadedBy, others }, onProgress, signal);
    const changed = changedBetween(before, await setVersions.of(partner, audience));

    const { devices, matched } = composed;
    // In the middle of a load there may be more matches than the audience shows devices.
    if (!changed.own) await audiences.recordMatched(document, matched);
    await compositions.finish(audience, token, {
      ...composed,
      generation,
      ended: before.ended,
      overtaken: changed.marketplace || changed.loads,
      attributes: new Binary(composed.attributes),
      others: new Binary(composed.others),
    });
    const seconds = (performance.now() - since) / 1_000;
    metrics.compositions.observe(seconds);
    log.info(
      { audience, devices, matched, others: others.length, seconds: Math.round(seconds * 100) / 100 },
      'composition computed',
    );
  };
}
