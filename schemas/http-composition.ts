/** The composition report of an audience. Like http-answers.ts: describes the responses, and tests validate against it. */
import { z } from 'zod';
import { visibility } from './http.ts';
import { audience, count, described, id, time } from './http-answers.ts';

const hidden = 'Null if it is below the privacy floor.';
const { audience_id, name, unique_devices } = audience.shape;
const cell = (description: string, example: number) =>
  described(count.nullable(), `${description} ${hidden}`, example);
const share = (description: string, example: number) =>
  described(z.number().min(0).max(1).nullable(), `${description} ${hidden}`, example);

const wholeShare = (description: string, example: number) =>
  described(z.number().min(0).max(1), description, example);

export const attributeRow = z
  .strictObject({
    attribute_id: described(id, 'The attribute, of any partner.', 17),
    name: described(z.string(), 'Its name.', 'Frequent travellers'),
    owner: described(z.string(), 'The name of the partner that it belongs to.', 'Acme Travel Data'),
    own: described(z.boolean(), 'Whether it is yours.', true),
    visibility,
    devices: described(count, 'Devices of the audience that have the attribute.', 1_500),
    share: wholeShare('Their share of the devices of the audience.', 0.3),
    index: described(
      z.number().nonnegative(),
      '100 times the share in the audience, divided by the share among all marketplace devices: above 100, the attribute is more frequent in the audience than elsewhere.',
      240,
    ),
  })
  .meta({ id: 'CompositionAttribute' });

const eventRow = z
  .strictObject({
    event: described(
      z.string(),
      'The event; `(no event)` for the devices without any, and the rows without one; `(other)` for those of files with more than 1,000, and for all beyond the first 10,000 of the audience.',
      'purchase',
    ),
    devices: cell('Devices with this event.', 900),
    rows: cell('Rows with this event, in the latest version of each file.', 1_100),
  })
  .meta({ id: 'CompositionEvent' });

export const overlapRow = z
  .strictObject({
    audience_id,
    name,
    devices: described(count, 'Devices that are in both audiences.', 640),
    share_of_this: wholeShare('Their share of this audience.', 0.128),
    share_of_other: wholeShare('Their share of the other audience.', 0.4),
  })
  .meta({ id: 'CompositionOverlap' });

export const composition = z
  .strictObject({
    audience_id,
    name,
    computed_at: described(time, 'When the report was computed, in UTC.', '2026-06-01T08:35:00.000Z'),
    current: described(
      z.boolean(),
      'False if the audience, another audience of yours or the marketplace changed while the report was computed, or since.',
      true,
    ),
    floor: described(
      count,
      'The privacy floor: counts below it are null, attributes and overlaps with fewer devices are left out, and of an audience with fewer devices nothing is shown but its size. 0 hides nothing. It suppresses small numbers; it does not protect against comparing reports before and after a change.',
      100,
    ),
    unique_devices,
    matched_devices: cell('Devices that have at least one marketplace attribute, public or private.', 4_100),
    match_rate: share('The share of matched devices.', 0.82),
    marketplace_devices: described(
      count.nullable(),
      `Distinct devices that have any attribute. ${hidden} Null, too, if the audience is empty.`,
      16_000,
    ),
    overlap_count: described(count, 'The number of other audiences with devices in common.', 1),
    overlaps_complete: described(
      z.boolean(),
      'False if there are more than 1,000 other audiences: the largest 1,000 were compared.',
      true,
    ),
    attributes: described(
      z.array(attributeRow),
      'The attributes that devices of the audience have, most devices first, then by id. Those that are private to another partner are left out.',
    ),
    events: described(z.array(eventRow), 'Most devices first, then by name; hidden ones last.'),
    overlaps: described(
      z.array(overlapRow),
      'The other audiences that you may see with the most devices in common, up to 100, most devices first, then by id. `…/composition/overlaps` lists all.',
    ),
  })
  .meta({ id: 'Composition' });

export const compositionProgress = z
  .strictObject({
    progress: described(z.number().min(0).max(1), 'How far the computation is, from 0 to 1.', 0.5),
    started_at: described(time, 'When it was requested, in UTC.', '2026-06-01T08:35:00.000Z'),
    previous: described(
      composition.nullable(),
      'With `previous=true`, the last report, if there is one since the audience was last cleared; otherwise null.',
    ),
  })
  .meta({ id: 'CompositionProgress' });
