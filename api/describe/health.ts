/** Live: the process responds. Ready: Kafka and MongoDB respond to it. */
import { createReadiness } from '../../pipeline/runtime/health.ts';
import { send } from '../http/change.ts';
import type { Handler } from '../http/context.ts';
import { Problem } from '../http/problem.ts';
import type { Dependencies } from '../resources/shared.ts';

type Backends = Pick<Dependencies, 'ping' | 'publisher'>;

export const readinessOf = ({ ping, publisher }: Backends) =>
  createReadiness([
    { name: 'kafka', check: () => publisher.check() },
    { name: 'mongodb', check: ping },
  ]);

export function createHealth(backends: Backends) {
  const readiness = readinessOf(backends);
  const live: Handler = (ctx) => send(ctx, { status: 200, body: '{"live":true}' });
  const ready: Handler = async (ctx) => {
    const state = await readiness();
    if (!state.ready)
      throw new Problem('unavailable', 'Not ready: a backend does not respond.', {
        headers: { 'Retry-After': '2' },
        members: { ...state },
        // A negative answer to a probe is not a failed request.
        isLogged: false,
      });
    send(ctx, { status: 200, body: JSON.stringify(state) });
  };
  return { live, ready };
}
