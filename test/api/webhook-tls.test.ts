/** Receivers with TLS: the certificate must be issued by a trusted authority, match the URL's name, and be valid now. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ensureCertificates } from '../../deploy/local/certificates.ts';
import { useService } from '../support/fixture.ts';
import { callerOf } from './support.ts';
import { attempted, isSigned, type Receiver, startReceiver } from './webhook-receiver.ts';

const HOOKS = '/v1/webhooks';
const directory = mkdtempSync(join(tmpdir(), 'headrace-webhook-tls-'));
const [trusted, unknown] = [join(directory, 'trusted'), join(directory, 'unknown')];
const receivers: Receiver[] = [];
await ensureCertificates(trusted, [
  { name: 'good', subject: 'receiver' },
  { name: 'expired', subject: 'receiver', days: -1 },
]);
await ensureCertificates(unknown, [{ name: 'good', subject: 'receiver' }]);
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const { service, driver } = await useService({
  env: {
    HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1',
    HEADRACE_TEST_WEBHOOK_TIMEOUT_MS: '60000',
    NODE_EXTRA_CA_CERTS: join(trusted, 'ca.pem'),
  },
});
afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())));
const call = await callerOf(service, driver, await driver.partner());

/** The first attempt of a test delivery to a receiver with this certificate. */
async function attemptWith(file: string, host = 'localhost') {
  const receiver = await startReceiver({ host, pem: readFileSync(file, 'utf8') });
  receivers.push(receiver);
  const { webhook_id, secret } = (await call('POST', HOOKS, { body: { url: `${receiver.url}/` } })).json;
  const { delivery_id } = (await call('POST', `${HOOKS}/${webhook_id}/test`)).json;
  const delivery = await attempted(call, `${HOOKS}/${webhook_id}/deliveries/${delivery_id}`);
  return { receiver, secret, attempt: delivery.attempts[0] };
}

it('a certificate of a trusted authority: the event arrives, signed', async () => {
  const { receiver, secret, attempt } = await attemptWith(join(trusted, 'good.pem'));
  expect(attempt).toMatchObject({ code: 204, error: null });
  expect(await isSigned(receiver.received[0]!, secret)).toEqual([true]);
});

it.each([
  ['of an authority that nobody knows', join(unknown, 'good.pem'), 'localhost', /unable to verify/],
  ['that has expired', join(trusted, 'expired.pem'), 'localhost', /expired/],
  ['of another name', join(trusted, 'good.pem'), '127.0.0.2', /does not match/],
])('a certificate %s: nothing is sent, and the log of deliveries says why', async (_, file, host, reason) => {
  const { receiver, attempt } = await attemptWith(file, host);
  expect(attempt).toMatchObject({ code: null, error: expect.stringMatching(reason) });
  expect(receiver.received).toEqual([]);
});
