/** No webhook reaches a private network, whatever a name resolves to and whenever that changes. */
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createPostEvent } from '../../api/resources/webhooks/post-event.ts';
import {
  createResolve,
  ForbiddenAddress,
  isPublicAddress,
  type Lookup,
  webhookUrlProblem,
} from '../../api/resources/webhooks/public-addresses.ts';
import { signEvent } from '../../pipeline/runtime/sign-event.ts';
import { startReceiver } from './webhook-receiver.ts';

const named = (...addresses: string[]): Lookup => {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

describe('an address', () => {
  it.each([
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001::1',
  ])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12:3456::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    'not-an-address',
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
});

describe('a URL', () => {
  it.each([
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'http://hooks.acme.example/',
    'https://user:pass@hooks.acme.example/',
    'https://hooks.acme.example/#part',
  ])('%s is refused', (url) => expect(webhookUrlProblem(url, false)).toEqual(expect.any(String)));

  it('https with a name or a public address is not; tests may do more', () => {
    expect(webhookUrlProblem('https://hooks.acme.example:8443/a?b=c', false)).toBeUndefined();
    expect(webhookUrlProblem('https://8.8.8.8/', false)).toBeUndefined();
    expect(webhookUrlProblem('http://127.0.0.1:1/', true)).toBeUndefined();
  });
});

describe('a name', () => {
  const url = new URL('https://hooks.acme.example/');

  it('is refused if any of its addresses is private', async () => {
    await expect(createResolve(false, named('8.8.8.8', '10.0.0.1'))(url)).rejects.toThrow(ForbiddenAddress);
    await expect(createResolve(false, named('fd00::1'))(url)).rejects.toThrow(ForbiddenAddress);
    await expect(createResolve(false, named())(url)).rejects.toThrow('has no address');
    expect(await createResolve(false, named('8.8.8.8'))(url)).toEqual({ address: '8.8.8.8', family: 4 });
  });

  it('is not resolved if it is an address', async () => {
    const resolve = createResolve(false, named('8.8.8.8'));
    await expect(resolve(new URL('https://[::1]/'))).rejects.toThrow(ForbiddenAddress);
    await expect(resolve(new URL('https://127.1/'))).rejects.toThrow(ForbiddenAddress);
  });

  it('is resolved once for a request: the connection goes to the address that was checked', async () => {
    const receiver = await startReceiver();
    let lookups = 0;
    const once: Lookup = async () => {
      lookups++;
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const post = createPostEvent(createResolve(true, once), 60_000);
    const headers = signEvent({ id: 'msg_1', at: new Date(), body: '{}' }, []);
    const { signal } = new AbortController();
    // No resolver knows this name: a second lookup would fail.
    const target = new URL(`http://rebinding.invalid:${receiver.port}/hook`);
    expect(await post(target, headers, '{}', signal)).toBe(204);
    expect(lookups).toBe(1);
    expect(receiver.received[0]!.headers.host).toBe(`rebinding.invalid:${receiver.port}`);
    const refusing = createPostEvent(createResolve(false, once), 60_000);
    await expect(refusing(target, headers, '{}', signal)).rejects.toThrow(ForbiddenAddress);
    expect(receiver.received).toHaveLength(1);
    await receiver.close();
  });
});

describe('a request', () => {
  const { signal } = new AbortController();
  const headers = signEvent({ id: 'msg_1', at: new Date(), body: '{}' }, []);

  it('is given up after the limit', async () => {
    const receiver = await startReceiver();
    receiver.answerWith('nothing');
    const post = createPostEvent(createResolve(true), 100);
    await expect(post(new URL(receiver.url), headers, '{}', signal)).rejects.toThrow('within 100 ms');
    await receiver.close();
  });

  it.each([
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ])('that is answered by %s ends', async (_, answer) => {
    const server = createServer((socket) => {
      socket.on('error', () => {}).resume();
      socket.end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const post = createPostEvent(createResolve(true), 60_000);
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await expect(post(url, headers, '{}', signal)).rejects.toThrow();
    await new Promise((resolve) => server.close(resolve));
  });

  it('reads little of an answer that does not end', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = () => socket.destroyed || socket.write('x'.repeat(65_536), more);
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const post = createPostEvent(createResolve(true), 60_000);
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await post(url, headers, '{}', signal)).toBe(200);
    await new Promise((resolve) => server.close(resolve));
  });

  it('does not follow a redirect', async () => {
    const receiver = await startReceiver();
    receiver.answerWith({ status: 307, location: `${receiver.url}/elsewhere` });
    const post = createPostEvent(createResolve(true), 60_000);
    expect(await post(new URL(`${receiver.url}/here`), headers, '{}', signal)).toBe(307);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/here']);
    await receiver.close();
  });
});

describe('a signature', () => {
  it('is that of the example in the specification of Standard Webhooks', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const at = new Date(1_614_265_330_000);
    const event = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, body: '{"test": 2432232314}' };
    expect(signEvent(event, [secret])).toEqual({
      'webhook-id': event.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });
});
