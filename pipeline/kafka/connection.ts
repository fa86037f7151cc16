/** TLS and SASL options for the brokers, from the settings. */
import { readFileSync } from 'node:fs';
import type { KafkaConfig, Mechanism, SASLOptions } from 'kafkajs';
import type { OperatorConfig } from '../../schemas/config.ts';
import { createOauthLogin } from './oauth-login.ts';
import { createTokens } from './oauth-tokens.ts';

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
