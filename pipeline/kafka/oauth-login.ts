/**
 * Replaces the OAUTHBEARER mechanism of kafkajs, which mistakes a refused token for a success: the broker answers with a reason (RFC 7628,
 * 3.2.2) instead of an error.
 */
import type { AuthenticationProviderArgs, Mechanism } from 'kafkajs';
import { StartRefused } from '../runtime/errors.ts';

/**
 * Retriable in a running process: the token endpoint may be down for a moment. The name tells kafkajs to open a new connection.
 */
class LoginFailed extends Error {
  override readonly name = 'KafkaJSConnectionError';
  readonly retriable = true;
}

const LENGTH_BYTES = 4;
const withLength = (text: string) => {
  const bytes = Buffer.alloc(LENGTH_BYTES + Buffer.byteLength(text));
  bytes.writeInt32BE(bytes.length - LENGTH_BYTES);
  bytes.write(text, LENGTH_BYTES);
  return bytes;
};
const response = {
  decode: (bytes: Buffer) => bytes.subarray(LENGTH_BYTES),
  parse: (bytes: Buffer) => bytes.toString(),
};

export function createOauthLogin(tokens: () => Promise<string>): Mechanism {
  async function login({ saslAuthenticate }: AuthenticationProviderArgs): Promise<void> {
    const token = await tokens();
    const request = { encode: () => withLength(`n,,\x01auth=Bearer ${token}\x01\x01`) };
    const reason = await saslAuthenticate({ request, response });
    if (reason)
      throw new StartRefused(
        `HEADRACE_KAFKA_OAUTH_CLIENT_ID: the brokers do not accept its token (${reason})`,
      );
  }
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: (connection) => ({
      authenticate: () =>
        login(connection).catch((cause: Error) => {
          throw new LoginFailed(cause.message, { cause });
        }),
    }),
  };
}
