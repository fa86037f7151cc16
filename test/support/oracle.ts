/**
 * The oracle: the expected state of the service, computed slowly and simply (jobs one after the other, whole files, plain Sets)
 * from what was uploaded, provisioned and queued, in that order. It knows nothing of Kafka, MongoDB, slots or batches.
 */

import { EVERYONE } from '../../schemas/job-documents.ts';
import { type FileVerdict, readFileOracle } from './oracle-file.ts';
import { setNames } from './stored-sets.ts';

export interface ExpectedError {
  code: string;
  file?: string;
  line?: number;
  count?: number;
}

export interface ExpectedJob {
  status: 2 | 3;
  rows: number;
  accepted: number;
  rejected: Record<string, number>;
  uniqueDevices: number;
  /** Distinct suppressed devices. */
  suppressed: number;
  /** Of a load: the audience's devices after it, and how many of them are new. */
  growth?: { audienceDevices: number; newDevices: number };
  files: number;
  errors: ExpectedError[] | null;
}

export interface ExpectedFile {
  path: string;
  status: 2 | 3;
  rows: number;
  accepted: number;
  /** Accepted (device, key) pairs minus the distinct ones; null for a failed file. */
  duplicates: number | null;
  suppressed: number;
  rejected: Record<string, number>;
  /** Accepted rows by event, of a loaded audience file. */
  events: Record<string, number>;
  failure: ExpectedError | null;
  /** Null if the file failed before its end: how many rejects the service saw by then depends on timing. */
  rejects: FileVerdict['rejects'] | null;
}

export interface ExpectedAudience {
  generation: number;
  uniqueDevices: number;
  uploadedDevices: number;
  matchedDevices: number;
  outcome: 2 | 3;
}

interface AudienceState extends ExpectedAudience {
  /** Path and content of every load since the last clear. */
  loaded: Map<string, Buffer[]>;
  /** The newest entry of each path. */
  entries: Map<string, ExpectedFile>;
  /** Paths whose last load failed as a whole. */
  failedPaths: Set<string>;
}

interface OraclePartner {
  _id: string;
  prefix: string;
}

interface ReadFile {
  entry: ExpectedFile;
  /** Identifiers of a loaded file by attribute id, or by event. */
  devices: Map<string, Set<string>>;
  /** The file's suppressed devices. */
  suppressed: Set<string>;
}

export type Oracle = ReturnType<typeof createOracle>;

/** Failures that are detected only at the end of a file, so that the number of rows is known. */
const atTheEnd = ['too_many_invalid', 'empty_file'];
const plain = (id: string) => id.replaceAll('-', '');
function sumByCode(counts: Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [code, count] of counts.flatMap(Object.entries<number>)) sums[code] = (sums[code] ?? 0) + count;
  return sums;
}
const everything = (sets: Iterable<Set<string>>) => new Set([...sets].flatMap((set) => [...set]));

export function createOracle() {
  const objects = new Map<string, Buffer>();
  const attributes: { id: number; partner: string; foreignKey?: string }[] = [];
  const audiences = new Map<number, AudienceState>();
  const sets = new Map<string, Set<string>>();
  /** Suppressed identifiers by partner or EVERYONE, and all that were ever suppressed. */
  const suppressed = new Map<string, Set<string>>();
  const everSuppressed = new Set<string>();
  const ownerOf = new Map<number, string>();
  const jobs = new Map<number, ExpectedJob>();
  const files = new Map<number, ExpectedFile[]>();
  const setOf = (name: string) => sets.get(name) ?? new Set<string>();
  const addTo = (name: string, devices: Set<string>) => sets.set(name, everything([setOf(name), devices]));

  function find(partner: OraclePartner, path: string): { found: string[]; exact: boolean } {
    const key = partner.prefix + path;
    if (objects.has(key)) return { found: [key], exact: true };
    const isData = (name: string) => !'_.'.includes(name.split('/').at(-1)!.slice(0, 1) || 'x');
    const found = [...objects.keys()].filter((name) => name.startsWith(key) && isData(name));
    return { found, exact: false };
  }

  function read(path: string, options: Parameters<typeof readFileOracle>[1]): ReadFile {
    const verdict = readFileOracle(objects.get(path)!, options);
    const { failure, rows, accepted, rejected, rejects } = verdict;
    const none = { duplicates: null, suppressed: 0, events: {}, status: 3 as const };
    if (failure && !atTheEnd.includes(failure.code)) {
      const entry = { path, rows: 0, accepted: 0, rejected: {}, rejects: null, failure, ...none };
      return { entry, devices: new Map(), suppressed: new Set() };
    }
    if (failure) {
      const { opted_out = 0 } = rejected;
      const counted = failure.code === 'too_many_invalid' ? { count: rows - accepted - opted_out } : {};
      const entry = { path, rows, accepted, rejected, rejects, failure: { ...failure, ...counted }, ...none };
      return { entry, devices: new Map(), suppressed: new Set() };
    }
    const devices = new Map([...verdict.devices].map(([key, ids]) => [key, new Set([...ids].map(plain))]));
    const distinct = [...devices.values()].reduce((sum, set) => sum + set.size, 0);
    const duplicates = verdict.pairsRead - distinct;
    const events = Object.fromEntries(verdict.events);
    const entry = {
      path,
      status: 2 as const,
      rows,
      accepted,
      duplicates,
      suppressed: 0,
      rejected,
      events,
      failure,
      rejects,
    };
    return { entry, devices, suppressed: new Set() };
  }

  /** The file without suppressed devices. */
  function withoutSuppressed(file: ReadFile, partner: OraclePartner): ReadFile {
    const isOut = (id: string) => [partner._id, EVERYONE].some((scope) => suppressed.get(scope)?.has(id));
    const out = new Set([...everything(file.devices.values())].filter(isOut));
    const devices = new Map(
      [...file.devices].map(([key, ids]) => [key, new Set([...ids].filter((id) => !out.has(id)))]),
    );
    return { entry: { ...file.entry, suppressed: out.size }, devices, suppressed: out };
  }

  function end(job: number, read: ReadFile[], problem?: string): void {
    const entries = read.map(({ entry }) => entry);
    const errors: ExpectedError[] = entries
      .filter(({ failure }) => failure)
      .map(({ failure, path }) => ({ ...failure!, file: path }));
    if (problem) errors.push({ code: problem });
    files.set(job, entries);
    jobs.set(job, {
      status: errors.length > 0 ? 3 : 2,
      rows: entries.reduce((sum, { rows }) => sum + rows, 0),
      accepted: entries.reduce((sum, { accepted }) => sum + accepted, 0),
      rejected: sumByCode(entries.map(({ rejected }) => rejected)),
      uniqueDevices: everything(read.flatMap(({ devices }) => [...devices.values()])).size,
      suppressed: everything(read.map((file) => file.suppressed)).size,
      files: entries.length,
      errors: errors.length > 0 ? errors : null,
    });
  }

  return {
    jobs,
    files,
    audiences: audiences as ReadonlyMap<number, ExpectedAudience>,
    attributes: attributes as readonly { id: number; partner: string }[],
    /** The members of a set, in lower case without dashes. */
    members: setOf,
    /** Identifiers suppressed for this partner, or for EVERYONE. */
    suppressed: (scope: string): ReadonlySet<string> => suppressed.get(scope) ?? new Set(),
    wasSuppressed: (identifier: string) => everSuppressed.has(identifier),
    /** The sets that are not empty. */
    filledSets: () => [...sets].filter(([, set]) => set.size > 0).map(([name]) => name),

    upload: (key: string, bytes: Buffer) => void objects.set(key, bytes),
    attribute: (id: number, partner: OraclePartner, foreignKey?: string) =>
      void attributes.push({ id, partner: partner._id, ...(foreignKey === undefined ? {} : { foreignKey }) }),

    import(
      job: number,
      partner: OraclePartner,
      path: string,
      { keyType, compressed }: { keyType: 0 | 1; compressed: boolean | null },
    ): void {
      const { found, exact } = find(partner, path);
      const problem = found.length === 0 ? 'no_files' : 'compressed_required';
      if (found.length === 0 || (compressed === null && !exact)) {
        end(job, [], problem);
        return;
      }
      const own = attributes.filter((attribute) => attribute.partner === partner._id);
      const keys = new Map<string, number>();
      for (const { id, foreignKey } of own) {
        if (keyType === 0) keys.set(String(id), id);
        else if (foreignKey !== undefined) keys.set(foreignKey, id);
      }
      const all = found.map((key) =>
        withoutSuppressed(
          read(key, { layout: 'attributes', keys, compressed: compressed ?? key.endsWith('.gz') }),
          partner,
        ),
      );
      for (const { devices } of all)
        for (const [key, ids] of devices) addTo(setNames.attribute(Number(key)), ids);
      end(job, all);
    },

    /** An audience's first load (job = audience) creates it. */
    load(job: number, audience: number, partner: OraclePartner, path: string): void {
      const fresh = { generation: 1, uniqueDevices: 0, uploadedDevices: 0, matchedDevices: 0 };
      if (job === audience)
        audiences.set(job, {
          ...fresh,
          outcome: 2,
          loaded: new Map(),
          entries: new Map(),
          failedPaths: new Set(),
        });
      const state = audiences.get(audience)!;
      const { found } = find(partner, path);
      const isLoaded = (key: string) => state.loaded.get(key)?.some((old) => old.equals(objects.get(key)!));
      const all = found
        .filter((key) => !isLoaded(key))
        .map((key) =>
          withoutSuppressed(read(key, { layout: 'audience', compressed: key.endsWith('.gz') }), partner),
        );
      ownerOf.set(audience, partner._id);
      const problem = found.length === 0 ? 'no_files' : undefined;
      const own = setNames.audience(audience, state.generation);
      const before = setOf(own);
      for (const { entry, devices } of all) {
        state.entries.set(entry.path, entry);
        if (entry.failure) continue;
        state.loaded.set(entry.path, [...(state.loaded.get(entry.path) ?? []), objects.get(entry.path)!]);
        for (const [event, ids] of devices) {
          addTo(own, ids);
          if (event !== '') addTo(setNames.event(audience, state.generation, event), ids);
        }
      }
      end(job, all, problem);
      const devices = setOf(own);
      jobs.get(job)!.growth = { audienceDevices: devices.size, newDevices: devices.size - before.size };
      const held = everything(attributes.map(({ id }) => setOf(setNames.attribute(id))));
      const entries = [...state.entries.values()];
      state.uniqueDevices = devices.size;
      // Devices that were already there were counted as matched, or not, by their own load.
      state.matchedDevices += [...devices].filter((id) => !before.has(id) && held.has(id)).length;
      state.uploadedDevices = entries.reduce(
        (sum, { failure, accepted }) => sum + (failure ? 0 : accepted),
        0,
      );
      if (problem) state.failedPaths.add(path);
      else if (all.every(({ entry }) => !entry.failure)) state.failedPaths.delete(path);
      state.outcome = state.failedPaths.size > 0 || entries.some(({ failure }) => failure) ? 3 : 2;
    },

    /** The result of a job in flight for the audience depends on timing: the caller names these jobs, and the oracle forgets them. */
    clear(audience: number, inFlight: number[] = []): void {
      for (const job of inFlight) {
        jobs.delete(job);
        files.delete(job);
      }
      const state = audiences.get(audience)!;
      const own = setNames.audience(audience, state.generation);
      for (const name of sets.keys()) if (name === own || name.startsWith(`${own}:`)) sets.delete(name);
      state.generation++;
      Object.assign(state, { uniqueDevices: 0, uploadedDevices: 0, matchedDevices: 0, outcome: 2 });
      state.loaded.clear();
      state.entries.clear();
      state.failedPaths.clear();
    },

    /** The scope is a partner, or EVERYONE. */
    privacy(job: number, type: 'delete' | 'restore', scope: string, identifiers: string[]): void {
      const asked = new Set(identifiers.map(plain));
      const list = suppressed.get(scope) ?? new Set();
      const isTheirs = (partner: string) => scope === EVERYONE || scope === partner;
      let found: Set<string>;
      if (type === 'restore') {
        found = new Set([...asked].filter((id) => list.has(id)));
        suppressed.set(scope, new Set([...list].filter((id) => !asked.has(id))));
      } else {
        const held = everything(attributes.map(({ id }) => setOf(setNames.attribute(id))));
        const own = attributes.filter(({ partner }) => isTheirs(partner));
        const names = own.map(({ id }) => setNames.attribute(id));
        for (const [audience, state] of audiences) {
          if (!isTheirs(ownerOf.get(audience)!)) continue;
          const name = setNames.audience(audience, state.generation);
          const removed = [...setOf(name)].filter((id) => asked.has(id));
          state.uniqueDevices -= removed.length;
          state.matchedDevices -= removed.filter((id) => held.has(id)).length;
          for (const set of sets.keys()) if (set === name || set.startsWith(`${name}:`)) names.push(set);
        }
        found = new Set([...everything(names.map(setOf))].filter((id) => asked.has(id)));
        for (const name of names) sets.set(name, new Set([...setOf(name)].filter((id) => !asked.has(id))));
        suppressed.set(scope, everything([list, asked]));
        for (const id of asked) everSuppressed.add(id);
      }
      const rows = identifiers.length;
      const counts = { rows, accepted: rows, rejected: {}, suppressed: 0 };
      const entry = { ...counts, duplicates: 0, events: {}, failure: null, rejects: [] };
      files.set(job, [{ path: 'identifiers', status: 2, ...entry }]);
      jobs.set(job, { ...counts, status: 2, uniqueDevices: found.size, files: 1, errors: null });
    },

    delete(job: number, of: number[]): void {
      const names = of.map(setNames.attribute);
      const rows = names.reduce((sum, name) => sum + setOf(name).size, 0);
      const uniqueDevices = everything(names.map(setOf)).size;
      for (const name of names) sets.delete(name);
      files.set(job, []);
      const read = { accepted: 0, rejected: {}, files: 0, suppressed: 0 };
      jobs.set(job, { status: 2, rows, uniqueDevices, errors: null, ...read });
    },
  };
}
