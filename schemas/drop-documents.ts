/**
 * Sessions with California's Delete Request and Opt-out Platform (DROP), in MongoDB. A batch is what one download brought; each state says
 * what is durable, and what is done next starts from it.
 */
import type { Binary } from 'mongodb';

/**
 * requested: the platform may have opened a batch. stored: the archive is here. read: so are its entries. listed: no load brings
 * their devices in any more. deleted: what was stored of them is gone, and every entry has its status. complete: the platform has them all.
 */
export type DropState = 'requested' | 'stored' | 'read' | 'listed' | 'deleted' | 'complete';

export const dropLists = ['NDZ', 'Email', 'Phone', 'MAID', 'NameVIN', 'CTVID'] as const;
export type DropList = (typeof dropLists)[number];

/** 2 and 4 are statuses of the platform that this service never has a reason for. */
export const DropStatus = { undecided: 0, deleted: 3, notFound: 5, withdrawn: 9 } as const;

export interface DropFile {
  name: string;
  list: DropList | 'Removed';
  entries: number;
}

/** A file of statuses. `sending`: the platform may have it, and has it if it says that the name was used. */
export interface DropUpload {
  name: string;
  /** The downloaded file, by its position, and its entries from the one up to, without, the other. */
  file: number;
  from: number;
  to: number;
  state: 'pending' | 'sending' | 'accepted';
  /** Names that the platform has refused, with its reason. */
  rejections: { name: string; message: string }[];
}

export interface DropBatchDocument {
  _id: number;
  state: DropState;
  requestedAt: Date;
  completedAt?: Date;
  /** Of the archive. */
  bytes: number;
  files: DropFile[];
  /** Rows without an id that could be answered. */
  unreadable: number;
  matched: number;
  withdrawn: number;
  /** The requests that delete the matches. */
  requests: number[];
  uploads: DropUpload[];
  /** Why the last run could not go on. */
  problem?: string;
}

/** Some entries of a file, `<batch>/<file>/<number>`; their statuses, `<batch>/<file>/<number>/status`; or a piece of an archive. */
export interface DropPartDocument {
  _id: string;
  /** 12 characters each. */
  ids?: Binary;
  /** 32 bytes each, all zero: it cannot be one. Of lists that concern this service. */
  digests?: Binary;
  /** A byte each. */
  statuses?: Binary;
  archive?: Binary;
}

/** Entries that were reported as not found, and were found later. */
export interface DropAmendmentDocument {
  _id: number;
  state: 'pending' | 'complete';
  createdAt: Date;
  /** What has arrived: the first 16 bytes of each digest. */
  digests: Binary;
  files: { name: string; part: string; ids: string[]; places: number[]; state: DropUpload['state'] }[];
}
