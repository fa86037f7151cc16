import type { ApiProblem } from '../../client/problem.ts';

export function Problem({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{problem.title}</p>
      {problem.isUnreachable ? (
        <p>The page retries automatically.</p>
      ) : (
        problem.detail && <p>{problem.detail}</p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
