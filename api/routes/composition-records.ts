/** Composition reports as the API shows them: with the names of today, what the caller may see, and nothing below the privacy floor. */
import { unpackNumbers } from '../../pipeline/formats/number-table.ts';
import { inGroups, within } from '../../pipeline/runtime/in-groups.ts';
import type { Scope } from '../../pipeline/stores/audiences.ts';
import type { CompositionReport } from '../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../schemas/documents.ts';
import { createFloor, hiddenLast } from '../privacy-floor.ts';
import type { ApiStores } from '../stores.ts';

export interface CompositionView {
  audience: AudienceDocument;
  report: CompositionReport;
  current: boolean;
  scope: Scope;
  floor: number;
}

export type ShownComposition = Awaited<ReturnType<typeof showComposition>>;

const NAMES_AT_ONCE = 1_000;
const perWhole = (part: number | null, whole: number): number | null =>
  part === null ? null : whole === 0 ? 0 : part / whole;
const inOrder = (a: string, b: string) => (a < b ? -1 : 1);

export async function showComposition(
  { attributes, audiences }: Pick<ApiStores, 'attributes' | 'audiences'>,
  { audience, report, current, scope, floor }: CompositionView,
) {
  const { devices } = report;
  const shown = createFloor(floor, devices);
  const marketplace = report.marketplaceDevices === null ? null : shown(report.marketplaceDevices);
  const matched = shown(report.matched);

  async function* attributeRows() {
    const rows = unpackNumbers(report.attributes.value(), 3) as [number, number, number][];
    const sorted = hiddenLast(
      rows,
      ([, , common]) => shown(common) === null,
      ([a], [b]) => a - b,
    );
    for (const some of inGroups(sorted, within({ count: NAMES_AT_ONCE }))) {
      const names = await attributes.namesOf(some.map(([id]) => id));
      for (const [id, held, common] of some) {
        const share = perWhole(shown(common), devices);
        yield {
          attribute_id: id,
          name: names.get(id) ?? '',
          devices: shown(common),
          share,
          index: share === null || marketplace === null ? null : (100 * share * marketplace) / held,
        };
      }
    }
  }

  async function overlapRows() {
    const rows = unpackNumbers(report.others.value(), 4) as [number, number, number, number][];
    const sorted = hiddenLast(
      rows,
      ([, , , common]) => shown(common) === null,
      ([a], [b]) => a - b,
    );
    const known = await audiences.namesOf(
      scope,
      sorted.map(([id]) => id),
    );
    // One that was cleared since is empty now.
    const visible = sorted.filter(([id, generation]) => known.get(id)?.generation === generation);
    return visible.map(([id, , held, common]) => ({
      audience_id: id,
      name: known.get(id)!.name,
      devices: shown(common),
      share_of_this: perWhole(shown(common), devices),
      share_of_other: perWhole(shown(common), held),
    }));
  }

  const events = hiddenLast(
    report.events,
    (event) => shown(event.devices) === null,
    (a, b) => inOrder(a.event, b.event),
  ).map(({ event, devices: count, rows }) => ({
    event,
    devices: shown(count),
    rows: shown(count) === null ? null : shown(rows),
  }));

  return {
    summary: {
      audience_id: audience._id,
      name: audience.name,
      computed_at: report.computedAt,
      current,
      floor,
      unique_devices: devices,
      matched_devices: matched,
      match_rate: perWhole(matched, devices),
      marketplace_devices: marketplace,
    },
    attributes: attributeRows(),
    events,
    overlaps: await overlapRows(),
  };
}
