/** TLS and SASL options for the brokers, from the settings. */
import { readFileSync } from 'node:fs';
import type { AuthenticationProviderArgs, KafkaConfig, Mechanism, SASLOptions } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { StartRefused } from '../runtime/errors.ts';
import { createTokens } from './oauth-tokens.ts';

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

/**
 * Replaces the OAUTHBEARER mechanism of kafkajs, which mistakes a refused token for a success: the broker answers with a reason (RFC 7628,
 * 3.2.2) instead of an error.
 */
function createOauthLogin(tokens: () => Promise<string>): Mechanism {
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

type ConnectionOptions = Pick<KafkaConfig, 'ssl' | 'sasl'>;

export const connectionOptions = (config: OperatorConfig): ConnectionOptions => ({
  ...(config.kafkaTls ? { ssl: tlsOf(config) } : {}),
  ...(config.kafkaSaslMechanism ? { sasl: saslOf(config) } : {}),
});

/** The files are read for every connection, because certificates are renewed while we run. */
function tlsOf({ kafkaTlsCaFile, kafkaTlsCertFile, kafkaTlsKeyFile }: OperatorConfig) {
  const options = {};
  const fromFile = (option: string, path: string | undefined) => {
    if (path !== undefined)
      Object.defineProperty(options, option, { enumerable: true, get: () => readFileSync(path) });
  };
  fromFile('ca', kafkaTlsCaFile);
  fromFile('cert', kafkaTlsCertFile);
  fromFile('key', kafkaTlsKeyFile);
  return options;
}

function saslOf(config: OperatorConfig): SASLOptions | Mechanism {
  const username = config.kafkaSaslUsername!;
  const password = config.kafkaSaslPassword!;
  switch (config.kafkaSaslMechanism!) {
    case 'PLAIN':
      return { mechanism: 'plain', username, password };
    case 'SCRAM-SHA-256':
      return { mechanism: 'scram-sha-256', username, password };
    case 'SCRAM-SHA-512':
      return { mechanism: 'scram-sha-512', username, password };
    case 'OAUTHBEARER':
      return createOauthLogin(tokensOf(config));
  }
}

/** Shared by all clients of a process, because each connection needs a token. */
let shared: { key: string; tokens: () => Promise<string> } | undefined;
function tokensOf(config: OperatorConfig) {
  const options = {
    url: config.kafkaOauthTokenUrl!,
    clientId: config.kafkaOauthClientId!,
    clientSecret: config.kafkaOauthClientSecret!,
    scope: config.kafkaOauthScope,
  };
  const key = JSON.stringify(options);
  if (shared?.key !== key) shared = { key, tokens: createTokens(options) };
  return shared.tokens;
}
