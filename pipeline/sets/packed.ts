/** Sets of devices as plain sorted bytes: everything one can do with them. */
export { countDistinct, union } from './packed-merge.ts';
export { concatenate, DEVICE_BYTES, deviceCount, emptySet, isPackedSet } from './packed-order.ts';
export { countMembers, markMembers } from './packed-search.ts';
export { sortDistinct } from './packed-sort.ts';
