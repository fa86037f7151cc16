/** 100,000 attributes: the report fits into a document, is streamed, and does not block other requests. */
import { expect, it } from 'vitest';
import { type AttributeDocument, collections } from '../../schemas/documents.ts';
import { composition } from '../../schemas/http-composition.ts';
import { numberedDevice } from '../sets/devices.ts';
import { waitFor } from '../support/wait-for.ts';
import { compositionOf, createScene, readReport } from './composition-scene.ts';
import { IMPORT, startApiProcess } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const ATTRIBUTES = 100_000;
const AUDIENCE_DEVICES = 1_000;

const api = useApi(startApiProcess);
const partner = usePartner(api);

/** Attribute n holds one device; each device has a hundred attributes. */
async function storeAttributes(scene: ReturnType<typeof createScene>): Promise<void> {
  const documents = Array.from({ length: ATTRIBUTES }, (_, i): AttributeDocument => {
    const common = { partner: partner.id, name: `Attribute ${i + 1}`, createdAt: new Date() };
    return { _id: i + 1, sequence: i + 1, ...common };
  });
  await api.db.collection<AttributeDocument>(collections.attributes).insertMany(documents);
  await scene.importInto(
    partner,
    documents.map(({ _id }) => ({ key: _id, devices: [numberedDevice(_id % AUDIENCE_DEVICES)] })),
  );
}

/** Counts other calls, made one after the other until stopped. */
function callMeanwhile(): () => Promise<number> {
  let answered = 0;
  let isDone = false;
  const calling = (async () => {
    for (; !isDone; answered++) expect((await partner.call('GET', IMPORT)).status).toBe(200);
  })();
  return async () => {
    isDone = true;
    await calling;
    return answered;
  };
}

it('are all in the report while others are answered; it is rendered once, and has an ETag', async () => {
  const scene = createScene(api, {});
  await storeAttributes(scene);
  const devices = Array.from({ length: AUDIENCE_DEVICES }, (_, i) => numberedDevice(i));
  const audience = await scene.audience(partner, { rows: { seen: devices } });
  // If the API's own thread computed the report, it would answer one call before and one after it.
  const areAnswered = async () => {
    const stop = callMeanwhile();
    await partner.call('POST', compositionOf(audience));
    await readReport(partner.call, audience);
    return (await stop()) > 10;
  };
  // Repeated, because a starved test makes few calls.
  await waitFor(areAnswered, { what: 'answers during a computation' });
  const reply = await readReport(partner.call, audience);
  expect(reply.headers.get('transfer-encoding')).toBe('chunked');
  const { attributes, ...report } = composition.parse(reply.json);
  expect(report).toMatchObject({
    unique_devices: AUDIENCE_DEVICES,
    matched_devices: AUDIENCE_DEVICES,
    marketplace_devices: AUDIENCE_DEVICES,
  });
  expect(attributes).toHaveLength(ATTRIBUTES);
  expect(attributes.map(({ attribute_id }) => attribute_id)).toEqual(
    Array.from({ length: ATTRIBUTES }, (_, i) => i + 1),
  );
  expect(attributes.every(({ devices: common, index }) => common === 1 && index === 100)).toBe(true);
  expect(attributes.at(-1)).toMatchObject({ name: `Attribute ${ATTRIBUTES}`, owner: 'test', own: true });
  const headers = { 'if-none-match': reply.headers.get('etag')! };
  expect((await partner.call('GET', compositionOf(audience), { headers })).status).toBe(304);
  const csv = await readReport(partner.call, audience, '?format=csv');
  expect(csv.text.split('\r\n')).toHaveLength(ATTRIBUTES + 9);
});
