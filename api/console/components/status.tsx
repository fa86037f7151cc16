import type { Status as Value } from '../../client/types.ts';
import { statusWords } from '../../client/words.ts';

const classes: Record<Value, string> = { 0: 'pending', 1: 'running', 2: 'done', 3: 'failed' };

export function Status({ status }: { status: Value }) {
  return <span class={`status status-${classes[status]}`}>{statusWords[status]}</span>;
}
