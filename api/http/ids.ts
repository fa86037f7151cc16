/** Ids in paths. Only the canonical form is accepted: no sign, no leading zero. */
import { notFound } from './problem.ts';

export function parseId(text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) throw notFound();
  const id = Number(text);
  if (!Number.isSafeInteger(id)) throw notFound();
  return id;
}
