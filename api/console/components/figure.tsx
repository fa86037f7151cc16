import type { ComponentChildren } from 'preact';
import { count, percent } from '../../client/format.ts';
import type { FigureState } from '../figures.ts';
import { Age, Bar, ProgressBar } from './basics.tsx';

interface Props {
  label: string;
  /** What it is a share of, in words. */
  share?: string;
  fraction?: number | null;
  state: FigureState;
}

function Value({ state }: { state: FigureState }): ComponentChildren {
  switch (state.kind) {
    case 'loading':
      return <span class="skeleton skeleton-figure" />;
    case 'known':
      return state.value;
    case 'computing':
      return <span class="figure-word">Computing {percent(state.progress)}</span>;
    case 'hidden':
      return <span class="figure-word">Under {count(state.floor)}</span>;
    case 'not-yet':
      return <span class="figure-word">–</span>;
    case 'failed':
      return <span class="figure-word">Failed</span>;
  }
}

function Note({ state }: { state: FigureState }): ComponentChildren {
  switch (state.kind) {
    case 'known':
      return (
        <>
          updated <Age time={state.at} />
          {state.note && <span class="figure-outdated"> · {state.note}</span>}
        </>
      );
    case 'hidden':
      return 'hidden to protect privacy';
    case 'not-yet':
    case 'failed':
      return state.why;
    default:
      return '\u00a0';
  }
}

export function Figure({ label, share, fraction, state }: Props) {
  const isKnown = state.kind === 'known';
  return (
    <div class={`figure figure-${state.kind}`}>
      <dt>{label}</dt>
      <dd class="figure-value">
        <Value state={state} />
      </dd>
      <dd class="figure-share">{(isKnown && share) || '\u00a0'}</dd>
      <dd class="figure-bar">
        {state.kind === 'computing' ? (
          <ProgressBar fraction={state.progress} label={`Computing: ${label}`} />
        ) : (
          <Bar fraction={(isKnown && fraction) || 0} />
        )}
      </dd>
      <dd class="figure-note">
        <Note state={state} />
      </dd>
    </div>
  );
}
