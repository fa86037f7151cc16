/**
 * Removes orphaned pages, which no manifest references because the process that wrote them died first. Reads a few ids per token and each
 * manifest once: the cost grows with the number of tokens, not of pages.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RenewalDocument } from '../../schemas/stage-documents.ts';
import type { EditDeps } from './edit-slot.ts';
import { tokenTime } from './edit-slot.ts';
import { writtenWith } from './regions.ts';

/** A slot of a small audience has a page or two, so a hundred ids contain many tokens. */
const IDS_AT_ONCE = 100;

interface Written {
  manifest: string;
  token: string;
  /** When the edit began, or its lease was last renewed. */
  begun: number;
}

/** The tokens in a manifest. Other tokens are orphans if they were written before `before`. */
interface Named {
  tokens: ReadonlySet<string>;
  before: number;
}

const tokenOf = (level: string) => level.split('.')[0]!;

type Found = Pick<RenewalDocument, '_id'> & Partial<RenewalDocument>;

/** The tokens among the ids of pages. The first document of an edit tells whether its lease was renewed (lease.ts). */
function* tokensIn(found: Found[]): Generator<Written> {
  let last: Written | undefined;
  for (const { _id: id, renewedAt } of found) {
    const [manifest = '', level = ''] = id.split(':');
    const token = tokenOf(level);
    if (last?.manifest === manifest && last.token === token) continue;
    last = { manifest, token, begun: renewedAt?.getTime() ?? tokenTime(token) };
    yield last;
  }
}

export function createOrphanSweep({ manifests, pages }: Pick<EditDeps, 'manifests' | 'pages'>) {
  const idsBehind = (behind: string): Promise<Found[]> =>
    pages.collection
      .find({ _id: { $gt: behind } })
      .project<Found>({ renewedAt: 1 })
      .sort({ _id: 1 })
      .limit(IDS_AT_ONCE)
      .toArray();

  /** Takes the time first: a token that was old enough by then is never referenced later. */
  async function namedBy(ids: string[], unnamedForMs: number): Promise<Map<string, Named>> {
    const before = Date.now() - unnamedForMs;
    const named = new Map<string, Named>(ids.map((id) => [id, { tokens: new Set(), before }]));
    const found = manifests.collection.find(
      { _id: { $in: ids } },
      { projection: { 'regions.levels.token': 1, 'erasing.regions.levels.token': 1 } },
    );
    for await (const { _id, regions, erasing } of found) {
      const tokens = [...regions, ...(erasing?.regions ?? [])].flatMap(({ levels }) =>
        levels.map(({ token }) => tokenOf(token)),
      );
      named.set(_id, { tokens: new Set(tokens), before });
    }
    return named;
  }

  /** Works half of the time. Returns the number of tokens swept. */
  return async ({
    unnamedForMs,
    signal,
  }: {
    unnamedForMs: number;
    signal?: AbortSignal;
  }): Promise<number> => {
    let swept = 0;
    let named = new Map<string, Named>();
    for (let behind = ''; ; ) {
      const began = performance.now();
      const written = [...tokensIn(await idsBehind(behind))];
      const last = written.at(-1);
      if (!last) return swept;
      const unread = written.map(({ manifest }) => manifest).filter((id) => !named.has(id));
      named = new Map([...named, ...(await namedBy([...new Set(unread)], unnamedForMs))]);
      for (const { manifest, token, begun } of written) {
        const { tokens, before } = named.get(manifest)!;
        if (begun > before || tokens.has(token)) continue;
        await pages.removeAll(writtenWith(manifest, token), signal);
        swept++;
      }
      // Only the last manifest may have further tokens.
      named = new Map([[last.manifest, named.get(last.manifest)!]]);
      behind = writtenWith(last.manifest, last.token).to;
      await sleep(performance.now() - began, undefined, { signal });
    }
  };
}
