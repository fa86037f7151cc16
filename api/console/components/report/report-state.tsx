import { useState } from 'preact/hooks';
import { exactTime, percent } from '../../../client/format.ts';
import { ApiProblem } from '../../../client/problem.ts';
import type { Audience } from '../../../client/types.ts';
import { type CompositionState, computeAgain, downloadCsv } from '../../composition.ts';
import { isOutdated } from '../../figures.ts';
import type { Query } from '../../query.ts';
import { Age, Problem, ProgressBar } from '../basics.tsx';

function State({ audience, composition: { data, problem } }: Pick<Props, 'audience' | 'composition'>) {
  const report = data?.report;
  if (data?.computing)
    return (
      <span class="report-computing">
        <ProgressBar fraction={data.computing.progress} label="Computing the report" />
        <span>
          Computing {percent(data.computing.progress)}
          {report && '; the numbers are out of date'}
        </span>
      </span>
    );
  if (!report) return <span>{problem ? 'The report could not be computed' : 'Loading the report'}</span>;
  return (
    <span>
      Computed <Age time={report.computed_at} />, {exactTime(report.computed_at)}
      {(problem || isOutdated(report, audience)) && <strong> · out of date</strong>}
    </span>
  );
}

interface Props {
  path: string;
  audience: Audience;
  composition: Query<CompositionState>;
}

/** Age of the report, and its actions. */
export function ReportBar({ path, audience, composition }: Props) {
  const [problem, setProblem] = useState<ApiProblem>();
  const attempt = (action: () => Promise<unknown>) => async (event: Event) => {
    event.preventDefault();
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      setProblem(error);
    }
  };
  const compute = attempt(() => computeAgain(path).finally(composition.reload));
  const isComputing = !!composition.data?.computing;
  return (
    <>
      <div class="report-bar">
        <p class="quiet numbers">
          <State audience={audience} composition={composition} />
        </p>
        <div class="actions">
          <button type="button" onClick={compute} disabled={isComputing}>
            Recompute
          </button>
          <a class="button" href={`${path}?format=csv`} download onClick={attempt(() => downloadCsv(path))}>
            Download CSV
          </a>
        </div>
      </div>
      {problem && <Problem problem={problem} />}
      {composition.problem && <Problem problem={composition.problem} retry={composition.reload} />}
    </>
  );
}
