/** The composition report of an audience. Like http-answers.ts: this describes the responses, and tests validate against it. */
import { z } from 'zod';
import { audience, count, described, id, time } from './http-answers.ts';

const hidden = 'Null if it is below the privacy floor.';
const { audience_id, name, unique_devices } = audience.shape;
const cell = (description: string, example: number) =>
  described(count.nullable(), `${description} ${hidden}`, example);
const share = (description: string, example: number) =>
  described(z.number().min(0).max(1).nullable(), `${description} ${hidden}`, example);

const attributeRow = z
  .strictObject({
    attribute_id: described(id, 'The attribute, of any partner.', 17),
    name: described(z.string(), 'Its name.', 'Frequent travellers'),
    devices: cell('Devices of the audience that have the attribute.', 1_500),
    share: share('Their share of the devices of the audience.', 0.3),
    index: described(
      z.number().nonnegative().nullable(),
      '100 times the share in the audience, divided by the share among all marketplace devices: above 100, the attribute is more frequent in the audience than elsewhere. Null if either is hidden.',
      240,
    ),
  })
  .meta({ id: 'CompositionAttribute' });

const eventRow = z
  .strictObject({
    event: described(
      z.string(),
      'The event; `(other)` for those of files with more than 1,000, and for all beyond the first 10,000 of the audience.',
      'purchase',
    ),
    devices: cell('Devices with this event.', 900),
    rows: cell('Rows with this event, in the latest version of each file.', 1_100),
  })
  .meta({ id: 'CompositionEvent' });

const overlapRow = z
  .strictObject({
    audience_id,
    name,
    devices: cell('Devices that are in both audiences.', 640),
    share_of_this: share('Their share of this audience.', 0.128),
    share_of_other: share('Their share of the other audience.', 0.4),
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
    floor: described(count, 'The privacy floor: counts below it are null. 0 hides nothing.', 100),
    unique_devices,
    matched_devices: cell('Devices that have at least one marketplace attribute.', 4_100),
    match_rate: share('The share of matched devices.', 0.82),
    marketplace_devices: described(
      count.nullable(),
      `Distinct devices that have any attribute. ${hidden} Null, too, if the audience is empty.`,
      16_000,
    ),
    attributes: described(
      z.array(attributeRow),
      'Every attribute that any device has, most devices first, then by id; hidden ones last.',
    ),
    events: described(z.array(eventRow), 'Most devices first, then by name; hidden ones last.'),
    overlaps: described(
      z.array(overlapRow),
      'Every other audience that you may see and that is not empty, most devices first, then by id; hidden ones last.',
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
