/** `headrace admin secret rotate`, after HEADRACE_SECRET was changed. */
import type { Command } from 'commander';
import { count, plural } from '../../../../api/client/format.ts';
import type { Rotation } from '../../../../api/provisioning/rotate-secret.ts';
import { secretsOf } from '../../../../pipeline/runtime/seal.ts';
import type { Environments } from '../../commands.ts';
import { adminCommands } from '../runner.ts';

const HOW = `
To change HEADRACE_SECRET without a gap:
  1. add the new secret to HEADRACE_SECRET_OLD of every process, and restart them one by one: now all can read with both;
  2. make it HEADRACE_SECRET, put the old one in HEADRACE_SECRET_OLD, and restart them one by one;
  3. run this command: it encrypts the credentials of queued jobs, the secrets of webhooks, token keys and signing keys, and the identifiers and answers of privacy requests with the new one. An API key is rehashed when it is used next;
  4. after a day (until then it recognises retries by their Idempotency-Key), and once this command reports that the old secret is no
     longer needed, remove it from HEADRACE_SECRET_OLD.`;

function lines({
  resealed,
  unreadable,
  resealedWebhooks,
  resealedTokenKeys,
  resealedSigningKeys,
  resealedRequests,
  keysToCome,
}: Rotation): string[] {
  const isDone = unreadable.length === 0 && keysToCome === 0;
  return [
    `encrypted with the current secret: credentials of ${plural(resealed, 'job')}, secrets of ${plural(resealedWebhooks, 'webhook')}, ${plural(resealedTokenKeys, 'token key')} and ${plural(resealedSigningKeys, 'signing key')}, ${plural(resealedRequests, 'list or answer', 'lists and answers')} of privacy requests`,
    ...(unreadable.length > 0
      ? [`no configured secret decrypts the credentials of job ${unreadable.join(', ')}`]
      : []),
    ...(keysToCome > 0
      ? [`API keys not used since the change, which still need the old secret: ${count(keysToCome)}`]
      : []),
    ...(isDone ? ['the old secret is no longer needed'] : []),
  ];
}

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const secret = admin.command('secret').description('manage the secret that encrypts stored credentials');
  add(secret, 'rotate', 're-encrypt stored credentials with the current secret')
    .addHelpText('after', HOW)
    .changes(async ({ config, ...stores }) => {
      const { rotateSecret } = await import('../../../../api/provisioning/rotate-secret.ts');
      const rotation = await rotateSecret(stores, secretsOf(config));
      const { resealed, unreadable, resealedWebhooks, keysToCome } = rotation;
      return {
        json: {
          resealed_jobs: resealed,
          unreadable_jobs: unreadable,
          resealed_webhooks: resealedWebhooks,
          resealed_token_keys: rotation.resealedTokenKeys,
          resealed_signing_keys: rotation.resealedSigningKeys,
          resealed_requests: rotation.resealedRequests,
          keys_to_come: keysToCome,
        },
        text: lines(rotation),
      };
    });
}
