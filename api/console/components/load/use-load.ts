/** Loads a file: upload, dry run, and the load itself once the user confirms the result of the dry run. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../../../client/problem.ts';
import type { DryRun } from '../../../client/types.ts';
import { newKey } from '../../api-client.ts';
import { checkFile, scopeOf, submitFile, type Target } from '../../load.ts';
import { asProblem } from '../../query.ts';
import { openPage } from '../../router.ts';
import { uploadFile } from '../../upload-file.ts';

export type Stage =
  | { name: 'uploading'; sent: number; since: number }
  | { name: 'checking'; run?: DryRun }
  | { name: 'checked' | 'submitting'; run: DryRun; problem?: ApiProblem }
  /** Nothing was loaded. */
  | { name: 'failed'; problem: ApiProblem };

/** Warns before the page is closed, which would lose the upload. */
const warn = (event: BeforeUnloadEvent) => event.preventDefault();

export function useLoad(file: File, target: Target) {
  const [stage, setStage] = useState<Stage>({ name: 'uploading', sent: 0, since: performance.now() });
  const [attempt, setAttempt] = useState(0);
  const uploaded = useRef({ path: '', key: '' });

  useEffect(() => {
    const cancel = new AbortController();
    const { signal } = cancel;
    const show = (next: Stage) => {
      if (!signal.aborted) setStage(next);
    };
    async function run(): Promise<void> {
      try {
        const since = performance.now();
        const onSent = (sent: number) => show({ name: 'uploading', sent, since });
        onSent(0);
        window.addEventListener('beforeunload', warn);
        const path = await uploadFile(file, { scope: scopeOf(target), onSent, signal });
        window.removeEventListener('beforeunload', warn);
        uploaded.current = { path, key: newKey() };
        show({ name: 'checking' });
        const onRead = (read: DryRun) => show({ name: 'checking', run: read });
        show({ name: 'checked', run: await checkFile(target, path, { signal, onRead }) });
      } catch (error) {
        show({ name: 'failed', problem: asProblem(error) });
      } finally {
        window.removeEventListener('beforeunload', warn);
      }
    }
    run();
    return () => cancel.abort(new ApiProblem(-1, 'Cancelled', 'Nothing was loaded.'));
  }, [file, target, attempt]);

  return {
    stage,
    /** Starts again with the upload. */
    retry: () => setAttempt(attempt + 1),
    async load(run: DryRun): Promise<void> {
      setStage({ name: 'submitting', run });
      const { path, key } = uploaded.current;
      try {
        openPage(await submitFile(target, path, key));
      } catch (error) {
        setStage({ name: 'checked', run, problem: asProblem(error) });
      }
    },
  };
}
