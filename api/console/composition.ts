/** The composition report of an audience: stored, being computed, or both. */

import { useRef } from 'preact/hooks';
import { wait } from '../client/client.ts';
import type { Composition, Computing } from '../client/types.ts';
import { change, read, request } from './api-client.ts';
import { save } from './csv.ts';
import { type Query, useQuery } from './query.ts';

export interface CompositionState {
  report: Composition | null;
  computing: Pick<Computing, 'progress' | 'started_at'> | null;
}

const POLL_MS = 400;
/** Loads may end in quick succession. */
const APART_MS = 3_000;
/** A report overtaken by a load is recomputed after this time. */
const OVERTAKEN_MS = 10_000;

/** Requests the previous report once, not with every progress response. */
async function readComposition(
  path: string,
  known: Composition | null,
  signal: AbortSignal,
): Promise<CompositionState> {
  const { status, data } = await read<Composition | Computing>(
    known ? path : `${path}?previous=true`,
    signal,
  );
  if (status === 200) return { report: data as Composition, computing: null };
  const { previous, ...computing } = data as Computing;
  return { report: known ?? previous, computing };
}

/** `devices`: the audience's current number. Only its changes outdate a report; other changes wait for a refresh. */
export function useComposition(path: string | null, devices?: number): Query<CompositionState> {
  const known = useRef<{ path: string | null; report: Composition | null }>({ path, report: null });
  if (known.current.path !== path) known.current = { path, report: null };
  const readIt = async (signal: AbortSignal) => {
    const state = await readComposition(path!, known.current.report, signal);
    known.current = { path, report: state.report };
    return state;
  };
  return useQuery(path, readIt, {
    again: ({ computing, report }) =>
      computing
        ? POLL_MS
        : devices !== undefined && report && report.unique_devices !== devices
          ? OVERTAKEN_MS
          : null,
    apartMs: APART_MS,
    retryByHand: true,
  });
}

/** Recomputes even if nothing has changed. */
export const computeAgain = (path: string): Promise<unknown> => change('POST', path);

/** Waits until an outdated report is recomputed. */
async function whenComputed(path: string): Promise<Response> {
  for (;;) {
    const response = await request(path);
    if (response.status !== 202) return response;
    await wait(POLL_MS);
  }
}

/** All of them fit into one page. */
export const readOverlaps = async (path: string): Promise<Composition['overlaps']> =>
  (await whenComputed(`${path}/overlaps?limit=1000`)).json();

/** A plain link could deliver a progress report instead of the file. */
export async function downloadCsv(path: string): Promise<void> {
  const response = await whenComputed(`${path}?format=csv`);
  const name = /filename="?([^";]+)"?/.exec(response.headers.get('Content-Disposition') ?? '')?.[1];
  save(await response.blob(), name ?? 'composition.csv');
}
