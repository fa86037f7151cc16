/** Composition reports as the API shows them: current names, without rows hidden from the caller or counts below the privacy floor. */
import { unpackNumbers } from '../../../pipeline/formats/number-table.ts';
import type { Scope } from '../../../pipeline/stores/audiences.ts';
import type { CompositionReport } from '../../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { unavailable } from '../../http/problem.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import { createFloor } from '../audiences/audience-records.ts';
import { type RowFacts, selectRows } from './attribute-rows.ts';

interface CompositionView {
  audience: AudienceDocument;
  report: CompositionReport;
  current: boolean;
  scope: Scope;
  /** For a share link: nothing private, and nothing of audiences of another customer. */
  isShared: boolean;
  floor: number;
  /** Only the partner's own attributes. */
  ownOnly: boolean;
}

export type ShownComposition = Awaited<ReturnType<ReturnType<typeof createShowComposition>>>;

const perWhole = (part: number | null, whole: number): number | null =>
  part === null ? null : whole === 0 ? 0 : part / whole;
const inOrder = (a: string, b: string) => (a < b ? -1 : 1);

/** Hidden counts come last, in an order that does not reveal them. */
function hiddenLast<T>(
  rows: readonly T[],
  isHidden: (row: T) => boolean,
  byName: (a: T, b: T) => number,
): T[] {
  return [...rows.filter((row) => !isHidden(row)), ...rows.filter(isHidden).sort(byName)];
}

export function createShowComposition({
  attributes,
  audiences,
  compositions,
  compositionRows,
}: Pick<ApiStores, 'attributes' | 'audiences' | 'compositions' | 'compositionRows'>) {
  /** Largest first, without audiences hidden from the caller and overlaps below the privacy floor. */
  async function overlapsOf({ audience, report, scope, isShared, floor }: CompositionView) {
    const shown = createFloor(floor, report.devices);
    const rows = unpackNumbers(report.others.value(), 4) as [number, number, number, number][];
    const known = await audiences.namesOf(
      scope,
      rows.map(([id]) => id),
    );
    return rows.flatMap(([id, generation, held, common]) => {
      const other = known.get(id);
      // Cleared since: now empty.
      if (other?.generation !== generation || shown(common) === null) return [];
      if (isShared && other.customer !== audience.customer) return [];
      return [
        {
          audience_id: id,
          name: other.name,
          devices: common,
          share_of_this: common / report.devices,
          share_of_other: common / held,
        },
      ];
    });
  }

  /** Private attributes are shown to the partner that owns them, not to its customers. */
  async function rowFilter({ report, scope, isShared, floor, ownOnly }: CompositionView) {
    const shown = createFloor(floor, report.devices);
    const isOwner = scope.customer === null && !isShared;
    const sinceThen = await attributes.madePrivateSince(report.startedAt);
    const hidden = new Set(
      sinceThen.filter(({ partner }) => !isOwner || partner !== scope.partner).map(({ _id }) => _id),
    );
    const isShown = ({ attribute, devices, isOwn, isPrivate }: RowFacts) =>
      shown(devices) !== null &&
      (isOwn || !ownOnly) &&
      (isOwner || !isPrivate) &&
      !(hidden.size > 0 && hidden.has(attribute));
    return { isShown, version: [report.token, isOwner, ownOnly, [...hidden].sort()] };
  }

  return async (view: CompositionView) => {
    const { audience, report, current, floor } = view;
    const { devices } = report;
    const shown = createFloor(floor, devices);
    const matched = shown(report.matched);
    const events = hiddenLast(
      report.events,
      (event) => shown(event.devices) === null,
      (a, b) => inOrder(a.event, b.event),
    ).map(({ event, devices: count, rows }) => ({
      event,
      devices: shown(count),
      rows: shown(count) === null ? null : shown(rows),
    }));
    const [overlaps, { isShown, version }] = await Promise.all([overlapsOf(view), rowFilter(view)]);

    async function* attributeRows(format: 'json' | 'csv'): AsyncGenerator<Buffer> {
      let parts = 0;
      for await (const rows of compositionRows.read(report.token, format)) {
        parts++;
        const text = selectRows(rows, format, isShown);
        if (text.length > 0) yield text;
      }
      if (parts === report.rowParts) return;
      // Replaced long ago, or rows are missing: recompute it.
      await compositions.forget(audience._id, report.token);
      throw unavailable('The report has been replaced. Retry to get the new one.');
    }

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
        marketplace_devices: report.marketplaceDevices === null ? null : shown(report.marketplaceDevices),
        overlap_count: overlaps.length,
        overlaps_complete:
          view.scope.customer === null ? report.compared.ofPartner : report.compared.ofCustomer,
      },
      attributeRows,
      events,
      overlaps,
      /** With the other parts, this determines the rows. */
      version,
    };
  };
}
