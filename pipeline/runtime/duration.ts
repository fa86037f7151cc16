/** Parses durations and times as people write them. */
const millisecondsOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** `90s`, `5m`, `2h`, `7d` or `1w`; NaN for anything else. */
export function millisecondsIn(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return Number(amount) * (millisecondsOf[unit as keyof typeof millisecondsOf] ?? Number.NaN);
}

/** A date, with or without a time; NaN for anything else. */
export const timeIn = (text: string): number =>
  /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
