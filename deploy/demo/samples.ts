/**
 * Sample files: deterministic, so that the expected counts are known. Devices are numbers: those below MARKETPLACE are in the
 * marketplace, those from SHOP on visit a shop, and those in between do both.
 */
import { createHash } from 'node:crypto';

export interface Sample {
  readonly path: string;
  readonly text: string;
  /** Valid rows, and their distinct devices. */
  readonly rows: number;
  readonly rejected: number;
  readonly devices: ReadonlySet<number>;
}

interface DemoAttribute {
  readonly foreignKey: string;
  readonly name: string;
  /** The attribute's share in per cent, among devices that do not visit the shop and among those that do. */
  readonly elsewhere: number;
  readonly inShop: number;
}

const MARKETPLACE = 46_000;
const SHOP = 28_000;
const VISITORS = 20_000;

const attribute = (foreignKey: string, name: string, elsewhere: number, inShop: number): DemoAttribute => ({
  foreignKey,
  name,
  elsewhere,
  inShop,
});

export const attributes = [
  attribute('coffee', 'Food > Coffee shop regulars', 34, 41),
  attribute('travel', 'Travel > Frequent travellers', 12, 31),
  attribute('fitness', 'Lifestyle > Gym members', 16, 22),
  attribute('parents', 'Household > Parents of young children', 18, 9),
  attribute('gamers', 'Lifestyle > Mobile gamers', 38, 24),
  attribute('restaurants', 'Food > Restaurant goers', 27, 33),
  attribute('cars', 'Household > Car owners', 45, 47),
  attribute('luxury', 'Shopping > Luxury shoppers', 2, 8),
  attribute('students', 'Household > Students', 14, 4),
  attribute('commuters', 'Travel > Rail commuters', 21, 26),
  attribute('pets', 'Household > Pet owners', 29, 28),
  attribute('movers', 'Household > Moved in the last six months', 3, 5),
];

const hash = (...words: (string | number)[]) => createHash('md5').update(words.join(' ')).digest();
/** A number below 100, determined by the words. */
const dice = (...words: (string | number)[]) => hash(...words).readUInt32BE() % 100;

function deviceId(number: number): string {
  const hex = hash('headrace demo', number).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function keysOf(device: number): string[] {
  const bytes = hash('attributes', device);
  const has = ({ elsewhere, inShop }: DemoAttribute, i: number) =>
    (bytes[i]! * 100) / 256 < (device < SHOP ? elsewhere : inShop);
  return attributes.filter(has).map(({ foreignKey }) => foreignKey);
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

function sample(path: string, header: string, rows: [number, string][], broken: string[] = []): Sample {
  const lines = rows.map(([device, value]) => `${deviceId(device)},${value}`);
  return {
    path,
    text: `${[header, ...lines, ...broken].join('\n')}\n`,
    rows: rows.length,
    rejected: broken.length,
    devices: new Set(rows.map(([device]) => device)),
  };
}

/** A row for each device, with a column for each of its attributes. */
export const marketplaceSample = sample(
  'demo/attributes.csv',
  'device_id,key',
  range(0, MARKETPLACE)
    .map((device): [number, string] => [device, keysOf(device).join()])
    .filter(([, keys]) => keys !== ''),
);

function eventOf(device: number, week: number): string {
  const number = dice('event', device, week);
  if (number < 6) return 'purchase';
  if (number < 20) return 'add_to_cart';
  return number < 24 ? 'newsletter_sign_up' : 'visit';
}

/** Every week has new devices and devices of earlier weeks; the third week has invalid rows. */
function visitorsOf(week: number): Sample {
  const visits = range(SHOP, SHOP + VISITORS * (0.4 + 0.15 * week)).filter(
    (device) => dice('visits', device, week) < 32,
  );
  const broken = range(0, week === 3 ? 90 : 0).map((i) =>
    i % 3 === 0 ? '00000000-0000-0000-0000-000000000000,visit' : `unknown-${i},visit`,
  );
  return sample(
    `demo/visitors/week-${week}.csv`,
    'device_id,event',
    visits.map((device) => [device, eventOf(device, week)]),
    broken,
  );
}

const members = (path: string, from: number, to: number, share: number, event: string): Sample =>
  sample(
    path,
    'device_id,event',
    range(from, to)
      .filter((device) => dice(path, device) < share)
      .map((device) => [device, event]),
  );

export interface DemoAudience {
  readonly name: string;
  /** The first creates the audience, the others are appended. */
  readonly loads: readonly Sample[];
}

export const audiences: readonly DemoAudience[] = [
  {
    name: 'Newsletter subscribers',
    loads: [members('demo/newsletter.csv', SHOP + 4_000, SHOP + 14_000, 35, 'subscribed')],
  },
  { name: 'Loyalty members', loads: [members('demo/loyalty.csv', SHOP - 3_000, SHOP + 9_000, 20, '')] },
  { name: 'Spring campaign visitors', loads: [1, 2, 3, 4].map(visitorsOf) },
];
