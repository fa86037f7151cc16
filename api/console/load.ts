/** Loads a file as an import or into an audience, after a dry run. */
import { audiencePath, importPath, wait } from '../client/client.ts';
import { ApiProblem } from '../client/problem.ts';
import type { Audience, DryRun, ImportLog } from '../client/types.ts';
import { isOpen } from '../client/words.ts';
import { change, read } from './api-client.ts';
import { isTransient } from './query.ts';

export type Target =
  | { kind: 'import'; keyType: ImportLog['key_type'] }
  | { kind: 'audience'; name: string }
  | { kind: 'append'; audience: Pick<Audience, 'audience_id' | 'name' | 'default_warehouse_segment_id'> };

export const scopeOf = ({ kind }: Target) => (kind === 'import' ? 'import' : 'audience');

const POLL_MS = 500;

/** Dry run of the file. An append is checked like a new audience. */
export async function checkFile(
  target: Target,
  file_path: string,
  { signal, onRead }: { signal: AbortSignal; onRead(run: DryRun): void },
): Promise<DryRun> {
  const [collection, request] =
    target.kind === 'import'
      ? [importPath, { key_type: target.keyType }]
      : [audiencePath, { name: target.kind === 'audience' ? target.name : target.audience.name }];
  const { data: queued } = await change<{ dry_run_id: number }>('POST', `${collection}?dry_run=true`, {
    file_path,
    ...request,
  });
  for (;;) {
    await wait(POLL_MS, signal);
    try {
      const { data } = await read<DryRun>(`${collection}/dry-runs/${queued.dry_run_id}`, signal);
      if (!isOpen(data.status)) return data;
      onRead(data);
    } catch (error) {
      if (!(error instanceof ApiProblem && isTransient(error))) throw error;
    }
  }
}

/** Queues the load and returns the page that shows it. Idempotent for a key. */
export async function submitFile(target: Target, file_path: string, key: string): Promise<string> {
  if (target.kind === 'import') {
    const body = { file_path, key_type: target.keyType };
    const { data } = await change<{ import_log_id: number }>('POST', importPath, body, key);
    return `/console/imports/${data.import_log_id}`;
  }
  if (target.kind === 'audience') {
    const body = { name: target.name, file_path };
    const { data } = await change<{ default_warehouse_segment_id: number }>('POST', audiencePath, body, key);
    return `/console/segments/${data.default_warehouse_segment_id}`;
  }
  const { audience_id, default_warehouse_segment_id: segment } = target.audience;
  await change('PATCH', `${audiencePath}/${audience_id}`, { file_path }, key);
  return `/console/segments/${segment}`;
}
