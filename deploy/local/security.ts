/** A stack with TLS and logins, as in a deployment: users, and the settings of the servers and the service. */
import { createHmac, generateKeyPairSync, pbkdf2Sync, randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureCertificates } from './certificates.ts';
import type { StateFolder } from './state.ts';

/** The first is ours, with all rights; the others have only granted rights. */
export const users = ['headrace', 'api', 'pipeline', 'operator'] as const;
export const [superUser] = users;
const serverName = 'headrace-server';
const clientName = 'headrace-client';

/** SCRAM mechanisms, with their hash and its length. */
const scram = { 'SCRAM-SHA-256': ['sha256', 32], 'SCRAM-SHA-512': ['sha512', 64] } as const;
const ITERATIONS = 4_096;

export const tlsFolder = ({ directory }: StateFolder): string => join(directory, 'tls');
const inFolder = (folder: StateFolder, name: string) => join(tlsFolder(folder), name);

export function passwordOf({ state }: StateFolder, user: string): string {
  return createHmac('sha256', state.secrets.passwords).update(user).digest('base64url');
}

/** The audience of OAUTHBEARER tokens, which the key in tls/tokens.json signs. */
export const tokenAudience = 'headrace-kafka';
const jwksUrl = (folder: StateFolder) => pathToFileURL(inFolder(folder, 'jwks.json')).href;

function makeTokenKey(folder: StateFolder): void {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const more = { kid: 'tokens', alg: 'ES256', use: 'sig' };
  const key = { ...privateKey.export({ format: 'jwk' }), ...more };
  const keys = [{ ...publicKey.export({ format: 'jwk' }), ...more }];
  writeFileSync(inFolder(folder, 'tokens.json'), JSON.stringify(key), { mode: 0o600 });
  writeFileSync(inFolder(folder, 'jwks.json'), JSON.stringify({ keys }));
}

export async function prepareSecurity(folder: StateFolder): Promise<void> {
  await ensureCertificates(tlsFolder(folder), [
    { name: 'server', subject: serverName },
    { name: 'client', subject: clientName },
  ]);
  // Authenticates the members of a replica set to each other.
  const keyFile = inFolder(folder, 'members.key');
  if (existsSync(keyFile)) return;
  makeTokenKey(folder);
  writeFileSync(keyFile, randomBytes(96).toString('base64'), { mode: 0o400 });
}

/**
 * Clients log in with a password (SASL_SSL), or with a certificate on a separate port (SSL), which brokers use among themselves. Rights
 * are denied unless granted.
 */
export function secureKafkaSettings(folder: StateFolder): Record<string, string> {
  const trusted = [`User:${superUser}`, `User:CN=${serverName}`, `User:CN=${clientName}`];
  return {
    'listener.security.protocol.map': 'SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:SSL',
    'inter.broker.listener.name': 'SSL',
    'sasl.enabled.mechanisms': ['PLAIN', ...Object.keys(scram), 'OAUTHBEARER'].join(),
    ...loginModules(folder),
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': inFolder(folder, 'server.pem'),
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': inFolder(folder, 'ca.pem'),
    'ssl.client.auth': 'required',
    'listener.name.sasl_ssl.ssl.client.auth': 'none',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': trusted.join(';'),
  };
}

function loginModules(folder: StateFolder): Record<string, string> {
  const modules = 'org.apache.kafka.common.security';
  const passwords = users.map((user) => `user_${user}="${passwordOf(folder, user)}"`);
  const scramModule = `${modules}.scram.ScramLoginModule required;`;
  const listener = (mechanism: string) => `listener.name.sasl_ssl.${mechanism}`;
  return {
    [`${listener('plain')}.sasl.jaas.config`]: `${modules}.plain.PlainLoginModule required ${passwords.join(' ')};`,
    [`${listener('scram-sha-256')}.sasl.jaas.config`]: scramModule,
    [`${listener('scram-sha-512')}.sasl.jaas.config`]: scramModule,
    [`${listener('oauthbearer')}.sasl.jaas.config`]: `${modules}.oauthbearer.OAuthBearerLoginModule required;`,
    [`${listener('oauthbearer')}.sasl.server.callback.handler.class`]: `${modules}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    // The broker's default validator does not check signatures.
    'sasl.oauthbearer.jwt.validator.class': `${modules}.oauthbearer.BrokerJwtValidator`,
    'sasl.oauthbearer.jwks.endpoint.url': jwksUrl(folder),
    'sasl.oauthbearer.expected.audience': tokenAudience,
  };
}

/** For formatting a broker's storage. Salted hashes, because other users can read the arguments of a process. */
export function scramArguments(folder: StateFolder): string[] {
  const mechanisms = Object.entries(scram);
  const credential = (user: string, [mechanism, [hash, length]]: (typeof mechanisms)[number]) => {
    const salt = randomBytes(16);
    const salted = pbkdf2Sync(passwordOf(folder, user), salt, ITERATIONS, length, hash);
    const fields = [
      `name=${user}`,
      `salt="${salt.toString('base64')}"`,
      `saltedpassword="${salted.toString('base64')}"`,
      `iterations=${ITERATIONS}`,
    ];
    return ['--add-scram', `${mechanism}=[${fields.join(',')}]`];
  };
  return users.flatMap((user) => mechanisms.flatMap((mechanism) => credential(user, mechanism)));
}

export function secureMongodArguments(folder: StateFolder): string[] {
  return [
    ...['--auth', '--keyFile', inFolder(folder, 'members.key'), '--tlsMode', 'requireTLS'],
    ...['--tlsCertificateKeyFile', inFolder(folder, 'server.pem'), '--tlsCAFile', inFolder(folder, 'ca.pem')],
    '--tlsAllowConnectionsWithoutCertificates',
  ];
}

/** Options of a MongoDB URL. */
export const mongoTls = (folder: StateFolder): string =>
  `tls=true&tlsCAFile=${encodeURIComponent(inFolder(folder, 'ca.pem'))}`;

export const loginOf = (folder: StateFolder, username: string) => ({
  username,
  password: passwordOf(folder, username),
  ca: inFolder(folder, 'ca.pem'),
});

/** Settings to log in to the brokers as this user. */
export const kafkaLogin = (folder: StateFolder, user: string): Record<string, string> => ({
  HEADRACE_KAFKA_TLS: '1',
  HEADRACE_KAFKA_TLS_CA_FILE: inFolder(folder, 'ca.pem'),
  HEADRACE_KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
  HEADRACE_KAFKA_SASL_USERNAME: user,
  HEADRACE_KAFKA_SASL_PASSWORD: passwordOf(folder, user),
});

/** JVM options of a broker: where its keys are. */
export const secureJavaOptions = (folder: StateFolder): string[] => [
  `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwksUrl(folder)}`,
];
