/** Formats numbers and times. The page is in English, so separators are too; times are in the reader's time zone. */
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export const count = (value: number): string => whole.format(value);
export const shortCount = (value: number): string => compact.format(value);

/** `3 files`, `1 file` */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Rounds to 0 % or 100 % only if exact. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return '< 0.1%';
  if (share > 0.999 && share < 1) return '> 99.9%';
  return `${tenths.format(share * 100)}%`;
}

/** 100 is the average, so a fraction matters only far below it. */
export const indexNumber = (index: number): string => (index < 10 ? tenths : whole).format(index);

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
export function bytes(value: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${tenths.format(value / 1000 ** power)} ${units[power]}`;
}

const steps: [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [30 * 86_400, 86_400, 'day'],
  [365 * 86_400, 30 * 86_400, 'month'],
  [Number.POSITIVE_INFINITY, 365 * 86_400, 'year'],
];

/** Clocks differ, so a time slightly ahead of the reader's clock counts as now. */
export function age(time: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 10) return 'just now';
  const [, size, unit] = steps.find(([limit]) => seconds < limit)!;
  return relative.format(-Math.floor(seconds / size), unit);
}

const exactParts: Intl.DateTimeFormatOptions = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
};
/** `timeZone`: for tests; default: the reader's. */
export const exactTime = (time: string, timeZone?: string): string =>
  new Intl.DateTimeFormat('en-GB', { ...exactParts, timeZone }).format(new Date(time));

/** The time, with the date unless it is today. */
export function asOf(time: string, now: number, timeZone?: string): string {
  const at = new Date(time);
  const zone = timeZone === undefined ? {} : { timeZone };
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', ...zone });
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', ...zone }).format(at);
  return day.format(at) === day.format(now) ? clock : `${day.format(at)}, ${clock}`;
}

export const shortTime = (time: string, timeZone?: string): string =>
  new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
  }).format(new Date(time));

export function duration(seconds: number): string {
  const rounded = Math.max(1, Math.round(seconds));
  if (rounded < 60) return `${rounded} s`;
  if (rounded < 3_600) return `${Math.round(rounded / 60)} min`;
  if (rounded < 48 * 3_600) return `${tenths.format(rounded / 3_600)} h`;
  return `${tenths.format(rounded / 86_400)} days`;
}
