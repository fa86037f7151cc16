import type { ComponentChildren } from 'preact';
import { count, percent } from '../../client/format.ts';
import type { FigureState } from '../figures.ts';

interface Props {
  label: string;
  /** The base of the share, in words. */
  share?: string;
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
      return <span class={state.isOutdated ? 'figure-outdated' : ''}>{state.note}</span>;
    case 'hidden':
      return 'hidden to protect privacy';
    case 'not-yet':
    case 'failed':
      return state.why;
    default:
      return null;
  }
}

export function Figure({ label, share, state }: Props) {
  return (
    <div class={`figure stack figure-${state.kind}`}>
      <dt>{label}</dt>
      <dd class="figure-value">
        <Value state={state} />
      </dd>
      {share && state.kind === 'known' && <dd class="figure-share">{share}</dd>}
      <dd class="figure-note">
        <Note state={state} />
      </dd>
    </div>
  );
}
