/**
 * A call of every method of every store, and of the device sets, as the service makes it. The type demands all of them: a missing
 * query does not compile. A method with several query shapes has several calls.
 */
import type { StoreCalls, Subject } from './all-stores.ts';
import { jobCalls } from './job-calls.ts';
import { partnerCalls } from './partner-calls.ts';
import { recordCalls } from './record-calls.ts';

export const callsFor = (subject: Subject): StoreCalls => ({
  ...jobCalls(subject),
  ...partnerCalls(subject),
  ...recordCalls(subject),
});
