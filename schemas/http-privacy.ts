/** HTTP responses of privacy requests. */
import { z } from 'zod';
import { count, created, described, id, importLogError, statusOf, updated } from './http-answers.ts';
import { privacyTypes } from './job-documents.ts';

export const requestId = z
  .strictObject({ request_id: described(id, 'The privacy request.', 58) })
  .meta({ id: 'PrivacyRequestId' });

const between =
  'As of now, among ended jobs; imports that were merged together count as one. It is not stored which load added the device: it is one from `first_addition` to `last_addition`. Null if unknown, or if it was removed after the request.';
/** `idField`: the name of the job's id field. */
const additions = (idField: 'import_log_id' | 'load_id', what: string) => {
  const addition = z.strictObject({ [idField]: id, created_at: created }).nullable();
  const sample = { [idField]: 12, created_at: '2026-06-01T12:00:00.000Z' };
  return {
    first_addition: described(addition, `The first ${what}. ${between}`, sample),
    last_addition: described(addition, `The last ${what}. ${between}`, sample),
  };
};

const deviceRecord = z
  .strictObject({
    identifier: described(z.string(), 'The device.', '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11'),
    attributes: z.array(
      z.strictObject({
        attribute_id: id,
        name: described(z.string().nullable(), 'null: the attribute was deleted since.', 'Sports fans'),
        ...additions(
          'import_log_id',
          'import that added devices to the attribute, since its data was last deleted',
        ),
      }),
    ),
    audiences: z.array(
      z.strictObject({
        audience_id: id,
        name: described(z.string().nullable(), 'null: the audience was deleted since.', 'Summer visitors'),
        events: described(z.array(z.string()), 'The events that the device came with.', ['visit']),
        ...additions('load_id', 'load that added devices to the audience, since it was last cleared'),
      }),
    ),
  })
  .meta({ id: 'DeviceRecord' });

export const privacyRequest = z
  .strictObject({
    request_id: described(id, 'Ids increase in the order in which jobs are accepted.', 58),
    type: z.enum(privacyTypes).meta({ example: 'delete' }),
    file_path: described(z.string().nullable(), 'As submitted; null if identifiers were sent.', null),
    status: statusOf('The status of the request.'),
    identifiers: described(
      count.nullable(),
      'Valid identifiers that were read; null until the request has ended.',
      12,
    ),
    found: described(
      count.nullable(),
      'Distinct devices with stored data; for a `restore`, devices that were suppressed. Null until the request has ended.',
      9,
    ),
    errors: described(z.array(importLogError).nullable(), 'Why it failed; null unless `status` is 3.', null),
    created_at: created,
    updated_at: updated,
  })
  .meta({ id: 'PrivacyRequest' });

export const privacyRequestDetails = privacyRequest
  .extend({
    devices: described(
      z.array(deviceRecord).nullable(),
      'For an `access` request that is done: the stored data of each device that was found. Kept for 7 days. Otherwise null.',
      null,
    ),
    receipt: described(
      z.string().nullable(),
      'What was removed and what remains until when, as a JWS (ES256) of the installation: its public key is at `/.well-known/jwks.json`. Null until the request has ended.',
      null,
    ),
  })
  .meta({ id: 'PrivacyRequestDetails' });

export const publicKeys = z
  .looseObject({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) })
  .meta({ id: 'PublicKeys' });
