/** Codes and states of the API in plain words. */
import { rejectCodes } from '../../schemas/codes.ts';
import type { ImportLog, PrivacyRequest, Status } from './types.ts';

export const statusWords: Record<Status, string> = { 0: 'Pending', 1: 'Running', 2: 'Done', 3: 'Failed' };
export const isOpen = (status: Status): boolean => status < 2;

const shortReasons: Record<keyof typeof rejectCodes, string> = {
  bad_identifier: 'Not a device identifier',
  opted_out: 'Opted out',
  bad_quotes: 'Broken quotes',
  missing_key: 'No key',
  unknown_key: 'Key is not yours',
  event_too_long: 'Event too long',
};
const find = (words: object, code: string): string | undefined =>
  Object.hasOwn(words, code) ? (words as Record<string, string>)[code] : undefined;

/** An unknown code, from a newer service, is shown as is. */
export const rejectReason = (code: string): string => find(shortReasons, code) ?? code;
export const rejectExplanation = (code: string): string => find(rejectCodes, code) ?? code;

/** Most rows first. */
export const byRows = (rejected: Record<string, number>): [code: string, rows: number][] =>
  Object.entries(rejected)
    .filter(([, rows]) => rows > 0)
    .sort(([, a], [, b]) => b - a);

const requestTypes: Record<PrivacyRequest['type'], string> = {
  access: 'Show what is stored',
  delete: 'Delete',
  restore: 'Restore',
};
export const requestTitle = ({ type, file_path }: Pick<PrivacyRequest, 'type' | 'file_path'>): string =>
  file_path === null ? requestTypes[type] : `${requestTypes[type]}: ${file_path}`;

export const importTitle = ({ log_type, file_path, keys }: ImportLog): string =>
  log_type === 1 ? `Deletion of ${(keys ?? []).join(', ')}` : file_path;
