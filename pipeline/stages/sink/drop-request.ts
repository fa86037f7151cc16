/**
 * Ends a privacy request that an operator has dropped, in a slot that may have carried out a part of it. Of each space that it changes,
 * either its change is there, and counts, or it never will be: not even through a replaced owner, which finds what is stored here.
 */
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import { EVERYONE } from '../../../schemas/job-documents.ts';
import type { JobMarker } from '../../../schemas/topics.ts';
import { packNumbers } from '../../formats/number-table.ts';
import type { DeviceSets, SlotChange, SlotTarget } from '../../sets/device-sets.ts';
import type { Ack } from '../../stores/acks.ts';
import type { RequestResultStore } from '../../stores/request-results.ts';
import { countsOf, noChange, notMerged } from './drop-job.ts';
import type { SinkStep } from './steps.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'drop'>;
  requestResults: Pick<RequestResultStore, 'store'>;
}

/** The suppression list that a request changes. */
export const listOf = ({ partner }: JobMarker) =>
  spaces.suppressed(partner === EVERYONE ? undefined : partner);

export function createDropRequest({ sets, requestResults }: Dependencies) {
  /** What the request has changed in a space; undefined: nothing. */
  async function dropIn(space: string, { job }: JobMarker, target: SlotTarget, step: SinkStep) {
    const { changes } = await step('drop', () => sets.drop({ ...target, space }));
    const change = changes.find((one) => one.job === job);
    return change?.dropped ? undefined : change;
  }

  async function removedFrom(
    held: string[],
    marker: JobMarker,
    target: SlotTarget,
    step: SinkStep,
  ): Promise<Partial<Ack>> {
    const audiences: number[][] = [];
    let ofMarketplace: SlotChange | undefined;
    for (const space of held) {
      const change = await dropIn(space, marker, target, step);
      const audience = spaces.parse(space);
      if (!audience) ofMarketplace = change;
      else if (change)
        audiences.push([audience.audience, audience.generation, change.devices, change.matched]);
    }
    return {
      ...(ofMarketplace ? countsOf(ofMarketplace) : {}),
      ...(audiences.length > 0 ? { audiences: new Binary(packNumbers(audiences)) } : {}),
    };
  }

  return async (marker: JobMarker, target: SlotTarget, step: SinkStep): Promise<Ack> => {
    const { job, privacy } = marker;
    const { slot } = target;
    const nothing = { job, slot, found: 0, spaces: [] };
    const { found, spaces: held, sealed } = await step('keep-result', () => requestResults.store(nothing));
    if (privacy === 'access')
      return sealed ? { ...noChange(job, slot, 0), uniqueDevices: found } : notMerged(job, slot, 0);
    const listed = await dropIn(listOf(marker), marker, target, step);
    if (privacy === 'restore')
      return listed ? { ...noChange(job, slot, 0), uniqueDevices: listed.devices } : notMerged(job, slot, 0);
    const removed = await removedFrom(held, marker, target, step);
    const isFound = Object.keys(removed).length > 0;
    // Rows may be left, whatever was removed from sets.
    return { ...notMerged(job, slot, 0), ...removed, uniqueDevices: isFound ? found : 0 };
  };
}
