/** Reads identifiers from a file or standard input, not from arguments: shells keep a history. */
import { readFileSync } from 'node:fs';
import { readIdentifiers } from '../../schemas/identifier-text.ts';

const STANDARD_INPUT = 0;

export const identifiersArgument = 'a file with one identifier per line, or - for standard input';

export function identifiersIn(file: string, refusal: (code: string, message: string) => Error): string[] {
  const { identifiers, badLine } = readIdentifiers(readText(file, refusal));
  if (badLine !== undefined)
    throw refusal(
      'bad_identifier',
      `line ${badLine} is not an advertising identifier: expected 32 hex digits, with or without hyphens; nothing was queued`,
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
