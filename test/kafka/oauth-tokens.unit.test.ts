import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createTokens } from '../../pipeline/kafka/oauth-tokens.ts';
import { waitFor } from '../support/wait-for.ts';

/** Returns token-1, token-2 and so on, each valid for this many seconds. */
async function serve(expiresIn: number) {
  const asked: { authorization: string | undefined; body: string }[] = [];
  const server = createServer(async (request, response) => {
    asked.push({ authorization: request.headers.authorization, body: await text(request) });
    response.end(JSON.stringify({ access_token: `token-${asked.length}`, expires_in: expiresIn }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}
const credentials = { clientId: 'a:b', clientSecret: 'ü', scope: 'one two' };

test('a token is got once for all who ask, with the credentials as RFC 6749 encodes them', async () => {
  const { url, asked } = await serve(3_600);
  const tokens = createTokens({ url, ...credentials });
  expect(await Promise.all([tokens(), tokens(), tokens()])).toEqual(['token-1', 'token-1', 'token-1']);
  expect(await tokens()).toBe('token-1');
  expect(asked).toEqual([
    {
      authorization: `Basic ${Buffer.from('a%3Ab:%C3%BC').toString('base64')}`,
      body: 'grant_type=client_credentials&scope=one+two',
    },
  ]);
});

test('another is got before it expires', async () => {
  const { url, asked } = await serve(1);
  const tokens = createTokens({ url, ...credentials });
  expect(await tokens()).toBe('token-1');
  await waitFor(async () => (await tokens()) !== 'token-1', { what: 'another token' });
  expect(asked.length).toBeGreaterThan(1);
});

test('a failure is not kept', async () => {
  let broken = true;
  const server = createServer((_, response) => {
    if (broken) response.writeHead(500).end();
    else response.writeHead(200).end(JSON.stringify({ access_token: 'after' }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const tokens = createTokens({ url: at, ...credentials });
  await expect(tokens()).rejects.toThrow(
    /^HEADRACE_KAFKA_OAUTH_TOKEN_URL: .* answered 500 instead of a token$/,
  );
  broken = false;
  expect(await tokens()).toBe('after');
});
