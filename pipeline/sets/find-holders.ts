/**
 * Finds spaces that may hold some devices of a slot. There may be a hundred thousand audiences, of which few hold the devices: reads the
 * addresses in the manifest of each, and of those with too many devices for that, the regions and a page or two, a thousand per round trip.
 * An undecided space counts as a holder.
 */
import { inGroups, within } from '../runtime/in-groups.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import { nextTurn } from '../runtime/loop-turn.ts';
import type { Devices } from './devices.ts';
import { joinLevel } from './join.ts';
import { spaceIn } from './manifest-reply.ts';
import type { ManifestRegions } from './manifests.ts';
import { choosePages, type LoadedLevel, partOf, type ReadDeps } from './read-regions.ts';
import { levelId } from './regions.ts';
import { createAddressSearch } from './slot-addresses.ts';

const SEARCHED_AT_ONCE = 5_000;
const SPACES_AT_ONCE = 1_000;
/** The server reads for one group while others are searched. */
const GROUPS_AT_ONCE = 3;

export async function findHolders(
  deps: ReadDeps,
  { slot, spaces }: { slot: number; spaces?: string[] },
  devices: Devices,
): Promise<string[]> {
  const holders: string[] = [];
  const unlisted: string[] = [];
  const mayHave = createAddressSearch(devices);
  for (const some of spaces ? inGroups(spaces, within({ count: SEARCHED_AT_ONCE })) : [undefined])
    for await (const manifests of deps.manifests.search(slot, some)) {
      await nextTurn();
      for (const manifest of manifests) {
        const { reply, addresses, addressesEnd, isErasing } = manifest;
        if (addresses === 0 || isErasing) unlisted.push(spaceIn(manifest));
        else if (mayHave(reply, addresses, addressesEnd)) holders.push(spaceIn(manifest));
      }
    }
  const groups = [...inGroups(unlisted, within({ count: SPACES_AT_ONCE }))];
  await inParallel(groups, GROUPS_AT_ONCE, async (group) => {
    const manifests = await deps.manifests.regionsOf(group, slot);
    const may = await Promise.all(manifests.map((manifest) => mayHold(deps, manifest, devices)));
    holders.push(...manifests.filter((_, n) => may[n]).map(({ space }) => space));
  });
  return holders;
}

async function mayHold(
  deps: ReadDeps,
  { _id, regions, erasing }: ManifestRegions,
  devices: Devices,
): Promise<boolean> {
  if (erasing) return true;
  const reading: Promise<boolean>[] = [];
  for (const region of regions) {
    if (region.levels.length === 0) continue;
    const wanted = partOf(devices, region);
    if (wanted.count === 0) continue;
    for (const level of region.levels) {
      const { starts } = choosePages(level, region, wanted);
      if (!starts) return true;
      const found = deps.pages.read({ level: levelId(_id, level), starts });
      reading.push(found.then((pages) => isHeldIn(deps, wanted, { level, pages }, starts)));
    }
  }
  return (await Promise.all(reading)).includes(true);
}

function isHeldIn(deps: ReadDeps, wanted: Devices, loaded: LoadedLevel, starts: number[]): boolean {
  const { level, pages } = loaded;
  // Missing pages are either empty, or belong to a replaced level: then the space counts as a holder.
  const read = new Set(pages.map(({ start }) => start));
  let isHeld = starts.filter((start) => read.has(start)).length < Math.min(starts.length, level.pages);
  const onDevice = () => {
    isHeld = true;
  };
  joinLevel(wanted, loaded, { onDevice }, deps.hash);
  return isHeld;
}
