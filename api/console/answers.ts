/** The answers of the API that the console reads. Types only: no schema is in the bundle. */
import type { z } from 'zod';
import type * as answers from '../../schemas/http-answers.ts';

export type Audience = z.output<typeof answers.audience>;
export type FileReport = z.output<typeof answers.fileReport>;
export type ImportLog = z.output<typeof answers.importLog>;
export type ImportLogError = z.output<typeof answers.importLogError>;
export type RejectedRow = z.output<typeof answers.rejectedRow>;
export type Status = Audience['status'];

export interface Load extends z.output<typeof answers.audienceLoad> {
  rows_accepted: number | null;
  rows_rejected: Record<string, number> | null;
  new_devices: number | null;
  audience_devices: number | null;
}

export interface Progress {
  phase: 'waiting' | 'listing' | 'loading' | 'merging' | 'done' | 'failed';
  status: Status;
  jobs_ahead: number;
  files: number | null;
  files_done: number;
  rows: number;
  bytes: number | null;
  bytes_done: number;
  rows_per_second: number | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  estimated_end_at: string | null;
}

export interface Composition {
  audience_id: number;
  name: string;
  computed_at: string;
  current: boolean;
  floor: number;
  unique_devices: number;
  matched_devices: number | null;
  match_rate: number | null;
  marketplace_devices: number | null;
  attributes: {
    attribute_id: number;
    name: string;
    devices: number | null;
    share: number | null;
    index: number | null;
  }[];
  events: { event: string; devices: number | null; rows: number | null }[];
  overlaps: {
    audience_id: number;
    name: string;
    devices: number | null;
    share_of_this: number | null;
    share_of_other: number | null;
  }[];
}

export interface Computing {
  progress: number;
  started_at: string;
  previous: Composition | null;
}

export interface Session {
  partner_id: string;
  partner_name: string;
  customer: string | null;
  expires_at: string | null;
}
