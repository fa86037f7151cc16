/**
 * Tells which setting is wrong when brokers are reachable but refuse us. Retrying would not help, so a starting process exits with this
 * message.
 */
import type { OperatorConfig } from '../../schemas/config.ts';
import { certificateProblem } from '../runtime/certificate-problem.ts';
import { StartRefused } from '../runtime/errors.ts';
import { type Listener, probeListener } from './probe-listener.ts';

interface KafkaError extends Error {
  code?: string;
  type?: string;
  broker?: string;
  originalError?: KafkaError;
  cause?: KafkaError;
  errors?: KafkaError[];
}

/** kafkajs wraps errors: the first of the chain is the newest, the last is the root cause. */
function chainOf(error: unknown): KafkaError[] {
  const chain: KafkaError[] = [];
  let next = error as KafkaError | undefined;
  while (next instanceof Error && !chain.includes(next)) {
    chain.push(next);
    next = next.originalError ?? next.cause ?? next.errors?.[0];
  }
  return chain;
}

/** A missing ACL: TOPIC_AUTHORIZATION_FAILED and so on. */
const isDenied = ({ type }: KafkaError) => type?.endsWith('_AUTHORIZATION_FAILED') === true;

export async function refusalOf(config: OperatorConfig, error: unknown): Promise<StartRefused | undefined> {
  const chain = chainOf(error);
  const known = chain.find((link) => link instanceof StartRefused);
  if (known) return known as StartRefused;
  const denied = chain.find(isDenied);
  if (denied)
    return new StartRefused(
      `${whoWeAre(config)}: the brokers do not permit what is needed (${denied.type}: ${denied.message}); deploy/README.md lists the ACLs`,
    );
  for (const link of chain) {
    const message = certificateMessage(config, link) ?? saslMessage(config, link);
    if (message) return new StartRefused(message, { cause: error });
  }
  // A broker closes a connection whose protocol it does not understand, without a reason: probe what it expects.
  for (const broker of config.kafkaBrokers) {
    const message = listenerMessage(config, broker, await probeListener(broker));
    if (message) return new StartRefused(message, { cause: error });
  }
  return undefined;
}

function certificateMessage({ kafkaTlsCertFile }: OperatorConfig, error: KafkaError): string | undefined {
  const problem = certificateProblem(error);
  const where = error.broker ?? 'the broker';
  if (problem?.whose === 'ours')
    return kafkaTlsCertFile
      ? `HEADRACE_KAFKA_TLS_CERT_FILE: ${where} does not accept our certificate (${problem.reason})`
      : `HEADRACE_KAFKA_TLS_CERT_FILE: ${where} wants a certificate of ours (${problem.reason})`;
  if (problem?.whose === 'authority')
    return `HEADRACE_KAFKA_TLS_CA_FILE: the certificate of ${where} is not signed by a known CA (${problem.reason})`;
  if (problem?.whose === 'theirs')
    return `HEADRACE_KAFKA_BROKERS: the certificate of ${where} is not valid (${problem.reason})`;
  return undefined;
}

function saslMessage(config: OperatorConfig, { name, message, type }: KafkaError): string | undefined {
  const mechanism = config.kafkaSaslMechanism;
  if (type === 'ILLEGAL_SASL_STATE')
    return `HEADRACE_KAFKA_SASL_MECHANISM: set to ${mechanism}, but this listener of the brokers has no SASL`;
  if (type === 'UNSUPPORTED_SASL_MECHANISM' || /mechanism is not supported/.test(message))
    return `HEADRACE_KAFKA_SASL_MECHANISM: the brokers do not support ${mechanism}`;
  if (name !== 'KafkaJSSASLAuthenticationError' && type !== 'SASL_AUTHENTICATION_FAILED') return undefined;
  return mechanism === 'OAUTHBEARER'
    ? `HEADRACE_KAFKA_OAUTH_CLIENT_ID: the brokers do not accept its token (${message})`
    : `HEADRACE_KAFKA_SASL_USERNAME, HEADRACE_KAFKA_SASL_PASSWORD: wrong user or password (${message})`;
}

function listenerMessage(
  config: OperatorConfig,
  broker: string,
  listener: Listener | undefined,
): string | undefined {
  if (listener?.tls && !config.kafkaTls)
    return `HEADRACE_KAFKA_TLS: expected 1, because ${broker} speaks TLS`;
  if (listener?.tls === false && config.kafkaTls)
    return `HEADRACE_KAFKA_TLS: expected 0, because ${broker} does not speak TLS`;
  if (listener?.mechanisms.length && !config.kafkaSaslMechanism)
    return `HEADRACE_KAFKA_SASL_MECHANISM: expected ${listener.mechanisms.join(' or ')}, because ${broker} wants a login`;
  return undefined;
}

const whoWeAre = ({ kafkaSaslUsername, kafkaOauthClientId, kafkaTlsCertFile }: OperatorConfig) =>
  kafkaSaslUsername
    ? `HEADRACE_KAFKA_SASL_USERNAME=${kafkaSaslUsername}`
    : kafkaOauthClientId
      ? `HEADRACE_KAFKA_OAUTH_CLIENT_ID=${kafkaOauthClientId}`
      : kafkaTlsCertFile
        ? 'HEADRACE_KAFKA_TLS_CERT_FILE'
        : 'HEADRACE_KAFKA_BROKERS';
