/** Reads identifiers from a file or standard input, not from arguments: shells keep a history. */
import { readFileSync } from 'node:fs';
import { readIdentifiers } from '../../schemas/identifier-text.ts';
import { CommandError, exitCodes } from './partner/exit-codes.ts';

const STANDARD_INPUT = 0;

export const identifiersArgument = 'a file with one identifier per line, or - for standard input';

export function identifiersIn(file: string): string[] {
  const { identifiers, badLine } = readIdentifiers(readText(file));
  if (badLine !== undefined)
    throw new CommandError(
      exitCodes.failed,
      'bad_identifier',
      `line ${badLine} is not an advertising identifier: expected 32 hex digits, with or without hyphens; nothing was queued`,
    );
  if (identifiers.length === 0)
    throw new CommandError(exitCodes.failed, 'no_identifiers', 'the file has no identifiers');
  return identifiers;
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8');
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError(exitCodes.failed, 'unreadable', `the identifiers cannot be read: ${message}`);
  }
}
