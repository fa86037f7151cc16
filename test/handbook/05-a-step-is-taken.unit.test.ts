/**
 * 5. Every side effect of a stage is a step: `step('ledger', () => ledger.record(entry))`. A step retries transient errors, ends
 *    with its delivery, and is a fault point where the fault tests kill the process.
 */
import { expect, it } from 'vitest';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep } from '../../pipeline/engine/step.ts';
import { faultPoints } from '../../pipeline/fault-points.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';

const retry = createRetry(createLogger({ logLevel: 'silent' }, 'test'), { firstMs: 1 });
const transient = () => Object.assign(new Error('not the primary'), { retriable: true });

it('is tried again while the failure is transient', async () => {
  const step = createStep('validate', retry, new AbortController().signal);
  let tries = 0;
  const result = await step('ledger', async () => {
    if (++tries < 3) throw transient();
    return 'written';
  });
  expect({ result, tries }).toEqual({ result: 'written', tries: 3 });
});

it('a failure that would only repeat is thrown at once', async () => {
  const step = createStep('validate', retry, new AbortController().signal);
  await expect(step('ledger', () => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
});

it('ends with its delivery: once the partition is taken away, nothing is tried any more', async () => {
  const delivery = new AbortController();
  const step = createStep('validate', retry, delivery.signal);
  const work = step('ledger', async () => {
    delivery.abort(new Error('the partition was taken away'));
    throw transient();
  });
  await expect(work).rejects.toThrow();
  await expect(step('ledger', async () => {})).rejects.toThrow('the partition was taken away');
});

it('has a fault point before it and one after it', () => {
  expect(faultPoints.validate).toContain('validate:before-ledger');
  expect(faultPoints.validate).toContain('validate:after-ledger');
});
