import { count, percent } from '../../../client/format.ts';
import type { Audience, FileReport } from '../../../client/types.ts';
import { byRows, isOpen, rejectExplanation, rejectReason } from '../../../client/words.ts';
import { matchedFigure, matchRateFigure, type ReportState, recordFigure } from '../../figures.ts';
import { type Funnel, funnelOf, shareOf } from '../../funnel.ts';
import { Figure } from '../figure.tsx';

const shareText = (share: number | null, whole: string) =>
  share === null ? '' : `${percent(share)} of ${whole}`;

/** Rows that did not add a device. */
function LeftOut({ funnel }: { funnel: Funnel }) {
  const reasons: { text: string; title?: string; rows: number }[] = [
    ...byRows(funnel.rejected).map(([code, rows]) => ({
      text: rejectReason(code),
      title: `${code}: ${rejectExplanation(code)}`,
      rows,
    })),
    { text: 'In failed files', rows: funnel.rowsInFailedFiles },
    { text: 'In unfinished loads', rows: funnel.rowsNotMerged },
    { text: 'Already in audience', rows: funnel.repeated },
  ];
  const shown = reasons.filter(({ rows }) => rows > 0);
  return (
    <div class="left-out stack stack-tight">
      <h3>Excluded rows</h3>
      {shown.length === 0 ? (
        <p class="quiet">None: every row became a device.</p>
      ) : (
        <dl>
          {shown.map(({ text, title, rows }) => (
            <div key={text} title={title}>
              <dt>{text}</dt>
              <dd class="numbers">
                {count(rows)} <span class="quiet">({percent(rows / funnel.rows)})</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

interface Props {
  audience: Audience;
  /** null: hidden from this reader. */
  files: FileReport[] | null | undefined;
  state: ReportState;
}

export function FunnelSection({ audience, files, state }: Props) {
  const funnel = funnelOf(files ?? [], audience);
  const { rows, uploaded, unique } = funnel;
  // An outdated report has the share at its time.
  const matchedShare = state.report ? state.report.match_rate : shareOf(audience.matched_devices, unique);
  const rowsFigure = files ? recordFigure(audience, rows) : ({ kind: 'loading' } as const);
  return (
    <section class="card" aria-labelledby="funnel-title">
      <h2 id="funnel-title" class="visually-hidden">
        Devices
      </h2>
      <div class="stack stack-wide">
        <dl class="figures">
          <Figure
            label="Unique devices"
            share={shareText(shareOf(unique, uploaded), 'the uploaded devices')}
            state={recordFigure(audience, unique)}
          />
          <Figure
            label="Matched devices"
            share={shareText(matchedShare, 'the unique devices')}
            state={matchedFigure(audience, state)}
          />
          <Figure
            label="Match rate"
            share="of the unique devices have an attribute"
            state={matchRateFigure(audience, state)}
          />
          {files !== null && (
            <Figure label="Rows read" share="in all files of the audience" state={rowsFigure} />
          )}
          <Figure
            label="Uploaded devices"
            share={
              files === null ? 'duplicates included' : shareText(shareOf(uploaded, rows), 'the rows read')
            }
            state={recordFigure(audience, uploaded)}
          />
        </dl>
        {files && rows > 0 && !(isOpen(audience.status) && uploaded === 0) && <LeftOut funnel={funnel} />}
      </div>
    </section>
  );
}
