/** Ids in addresses. What is not written exactly as we write them names nothing. */
import { notFound } from './problem.ts';

export function parseId(text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) throw notFound();
  const id = Number(text);
  if (!Number.isSafeInteger(id)) throw notFound();
  return id;
}
