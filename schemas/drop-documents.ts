/**
 * Sessions with California's Delete Request and Opt-out Platform (DROP), in MongoDB. A batch is the result of one download. Its state tells
 * what is durable, and a session resumes from it.
 */
import type { Binary } from 'mongodb';

/**
 * requested: the platform may have opened a batch. stored: the archive is stored. read: its entries are stored. listed: their devices are
 * suppressed. deleted: their data is deleted, and every entry has its status. complete: all statuses are uploaded.
 */
export type DropState = 'requested' | 'stored' | 'read' | 'listed' | 'deleted' | 'complete';

export const dropLists = ['NDZ', 'Email', 'Phone', 'MAID', 'NameVIN', 'CTVID'] as const;
export type DropList = (typeof dropLists)[number];

/** This service never uses the platform's statuses 2 and 4. */
export const DropStatus = { undecided: 0, deleted: 3, notFound: 5, withdrawn: 9 } as const;

export interface DropFile {
  name: string;
  list: DropList | 'Removed';
  entries: number;
}

/** A file of statuses. `sending`: the platform may have received it, and has if it reports the name as used. */
export interface DropUpload {
  name: string;
  /** Index of the downloaded file, and its entries `from` to `to`, exclusive. */
  file: number;
  from: number;
  to: number;
  state: 'pending' | 'sending' | 'accepted';
  /** Names that the platform rejected, with the reason. */
  rejections: { name: string; message: string }[];
}

export interface DropBatchDocument {
  _id: number;
  state: DropState;
  requestedAt: Date;
  completedAt?: Date;
  /** Size of the archive. */
  bytes: number;
  files: DropFile[];
  /** Rows without a usable id. */
  unreadable: number;
  matched: number;
  withdrawn: number;
  /** The requests that delete the matches. */
  requests: number[];
  uploads: DropUpload[];
  /** Why the last session stopped. */
  problem?: string;
}

/** Some entries of a file, `<batch>/<file>/<number>`; their statuses, `<batch>/<file>/<number>/status`; or a piece of an archive. */
export interface DropPartDocument {
  _id: string;
  /** 12 characters per id. */
  ids?: Binary;
  /** 32 bytes per digest; all zero: invalid. Only for lists that concern this service. */
  digests?: Binary;
  /** One byte per entry. */
  statuses?: Binary;
  archive?: Binary;
}

/** Entries that were reported as not found and were found later. */
export interface DropAmendmentDocument {
  _id: number;
  state: 'pending' | 'complete';
  createdAt: Date;
  /** The late matches: the first 16 bytes of each digest. */
  digests: Binary;
  files: { name: string; part: string; ids: string[]; places: number[]; state: DropUpload['state'] }[];
}
