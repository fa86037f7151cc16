/** Parses identifiers of privacy requests. Also bundled in the console and the partners' command line. */
export const MAX_IDENTIFIERS = 5_000;

/** In the 8-4-4-4-12 form or as 32 hex digits. */
export const identifierPattern =
  /^[0-9A-Fa-f]{8}(-?)[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{12}$/;

/** Normalised form; undefined if invalid. */
export const identifierText = (text: string): string | undefined => {
  const plain = text.replaceAll('-', '').toLowerCase();
  if (!identifierPattern.test(text) || /^0+$/.test(plain)) return undefined;
  return plain.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

/** One per line; blank lines are skipped. A bad line is reported by its number only, because it may be personal data. */
export function readIdentifiers(text: string): { identifiers: string[]; badLine?: number } {
  const identifiers: string[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const identifier = identifierText(line.trim());
    if (identifier === undefined) return { identifiers, badLine: i + 1 };
    identifiers.push(identifier);
  }
  return { identifiers };
}
