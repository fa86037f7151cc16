/** Identifiers of a privacy request, from a file or standard input: shells keep command lines. */
import { readFileSync } from 'node:fs';
import { readIdentifiers } from '../../schemas/identifier-text.ts';

const STANDARD_INPUT = 0;

export const identifiersArgument = 'one identifier in each line, or - for standard input';

export function identifiersIn(file: string, refusal: (code: string, message: string) => Error): string[] {
  const { identifiers, badLine } = readIdentifiers(readText(file, refusal));
  if (badLine !== undefined)
    throw refusal(
      'bad_identifier',
      `line ${badLine} is no advertising identifier: expected 32 hex digits, with hyphens or without; nothing was queued`,
    );
  if (identifiers.length === 0) throw refusal('no_identifiers', 'the file has no identifiers');
  return identifiers;
}

function readText(file: string, refusal: (code: string, message: string) => Error): string {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8');
  } catch (error) {
    throw refusal('unreadable', `the identifiers cannot be read: ${(error as Error).message}`);
  }
}
