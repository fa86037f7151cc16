/**
 * One partner under load: uploads files, imports them, creates audiences, appends, clears and deletes, one request after the other
 * without waiting for jobs. Records its requests and replays them to the oracle at the end.
 */
import type { PartnerDocument } from '../../../schemas/partner-documents.ts';
import type { Driver } from '../../support/driver.ts';
import { deviceOf, makeFile, POOL, type RowCount } from './files.ts';
import type { Random } from './random.ts';

export type Request =
  | { kind: 'import'; path: string; compressed: boolean | null; own: boolean }
  | { kind: 'create'; path: string }
  | { kind: 'append'; audience: number; path: string }
  | { kind: 'delete'; attributes: number[] }
  | { kind: 'privacy'; type: 'delete' | 'restore'; identifiers: string[] }
  | { kind: 'clear'; audience: number };

/** Queues a request durably: resolves once it has succeeded, with the id if the response has one. */
export type Submit = (partner: PartnerDocument, request: Request) => Promise<number | null>;

export interface Asked {
  request: Request;
  id: number | null;
}

export interface Lane {
  readonly partner: PartnerDocument;
  readonly attributes: readonly number[];
  readonly uploads: ReadonlyMap<string, Buffer>;
  readonly asked: readonly Asked[];
  readonly rows: number;
  /** Sends one random request, after uploading the files it needs. */
  step(size?: RowCount): Promise<Asked>;
  ask(request: Request): Promise<Asked>;
  /** Some of the devices in its files. */
  devices(first: number, count: number): string[];
  upload(layout: 'attributes' | 'audience', size: RowCount, folder?: string): Promise<string>;
}

const events = ['', 'install', 'purchase', 'seen'];

export async function createLane(driver: Driver, submit: Submit, random: Random): Promise<Lane> {
  const partner = await driver.partner();
  const tag = random
    .below(2 ** 31)
    .toString(16)
    .padStart(8, '0');
  const attributes = [
    await driver.attribute(partner),
    await driver.attribute(partner),
    await driver.attribute(partner),
  ];
  const uploads = new Map<string, Buffer>();
  const asked: Asked[] = [];
  const audiences: number[] = [];
  const loaded: string[] = [];
  let rows = 0;
  let folders = 0;

  async function upload(
    layout: 'attributes' | 'audience',
    size: RowCount,
    folder = '',
    gzip = random.chance(0.25),
  ) {
    const values = layout === 'audience' ? events : attributes.map(String);
    const generated = makeFile(random, { tag, values, size, gzip });
    const path = folder + generated.name;
    // A file name is never reused, so a job's input does not depend on when it reads it.
    if (uploads.has(path)) return path;
    await driver.upload(partner, path, generated.bytes);
    uploads.set(path, generated.bytes);
    rows += generated.rows;
    return path;
  }

  async function folder(layout: 'attributes' | 'audience', size: RowCount, gzip?: boolean): Promise<string> {
    const name = `${layout}-${folders++}/`;
    const count = 2 + random.below(3);
    for (let i = 0; i < count; i++) await upload(layout, size, name, gzip);
    return name;
  }

  async function ask(request: Request): Promise<Asked> {
    const entry = { request, id: await submit(partner, request) };
    asked.push(entry);
    if (request.kind === 'create') audiences.push(entry.id!);
    return entry;
  }

  const devices = (first: number, count: number) =>
    Array.from({ length: count }, (_, n) => deviceOf(tag, first + n));

  async function step(size: RowCount = 'mixed'): Promise<Asked> {
    const dice = random.next();
    if (random.chance(0.07)) {
      const type = random.chance(0.7) ? 'delete' : 'restore';
      return ask({
        kind: 'privacy',
        type,
        identifiers: devices(random.below(POOL), 1 + random.below(2_000)),
      });
    }
    if (dice < 0.1) return ask({ kind: 'delete', attributes: random.some(attributes, 1 + random.below(2)) });
    if (dice < 0.18 && audiences.length > 0) return ask({ kind: 'clear', audience: random.pick(audiences) });
    if (dice < 0.55) {
      if (random.chance(0.5)) {
        const compressed = random.chance(0.25);
        return ask({
          kind: 'import',
          path: await folder('attributes', size, compressed),
          compressed,
          own: false,
        });
      }
      const path = random.chance(0.05) ? 'nothing.csv' : await upload('attributes', size);
      return ask({ kind: 'import', path, compressed: null, own: random.chance(0.3) });
    }
    const known = loaded.length > 0 && random.chance(0.15);
    const path = known
      ? random.pick(loaded)
      : random.chance(0.4)
        ? await folder('audience', size)
        : await upload('audience', size);
    loaded.push(path);
    if (audiences.length === 0 || random.chance(0.25)) return ask({ kind: 'create', path });
    return ask({ kind: 'append', audience: random.pick(audiences), path });
  }

  return {
    partner,
    attributes,
    uploads,
    asked,
    get rows() {
      return rows;
    },
    step,
    ask,
    devices,
    upload,
  };
}
