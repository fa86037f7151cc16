/** `headrace admin secret rotate`, after HEADRACE_SECRET was changed. */
import type { Command } from 'commander';
import { secretsOf } from '../../pipeline/runtime/seal.ts';
import type { Rotation } from '../../pipeline/sources/rotate-secret.ts';
import type { createAdminRunner } from './admin-runner.ts';

const HOW = `
To change HEADRACE_SECRET without a gap:
  1. add the new secret to HEADRACE_SECRET_OLD of every process, and restart them one by one: all can read with both;
  2. make it HEADRACE_SECRET and put the old one in HEADRACE_SECRET_OLD, and restart them one by one;
  3. run this command. Credentials that wait with jobs are sealed again at once; an API key is hashed again when it is used next;
  4. after a day (repeated requests are known by it for so long), and when this command says that nothing needs the old secret any more,
     take it out of HEADRACE_SECRET_OLD.`;

function lines({ resealed, unreadable, keysToCome }: Rotation): string[] {
  const isDone = unreadable.length === 0 && keysToCome === 0;
  return [
    `${resealed} jobs’ credentials sealed with the current secret`,
    ...(unreadable.length > 0
      ? [`no configured secret opens the credentials of job ${unreadable.join(', ')}`]
      : []),
    ...(keysToCome > 0 ? [`${keysToCome} API keys have not been used since, and need the old secret`] : []),
    ...(isDone ? ['nothing needs an old secret any more'] : []),
  ];
}

export function registerSecretCommands(
  admin: Command,
  run: ReturnType<typeof createAdminRunner>,
  common: (command: Command) => Command,
): void {
  const secret = admin.command('secret').description('the secret that seals stored credentials');
  common(secret.command('rotate').description('seal with the current secret what an old one has sealed'))
    .addHelpText('after', HOW)
    .action((_options: object, command: Command) =>
      run(command, async (stores, config) => {
        const { rotateSecret } = await import('../../pipeline/sources/rotate-secret.ts');
        const rotation = await rotateSecret(stores, secretsOf(config));
        const { resealed, unreadable, keysToCome } = rotation;
        return {
          json: { resealed_jobs: resealed, unreadable_jobs: unreadable, keys_to_come: keysToCome },
          text: lines(rotation),
        };
      }),
    );
}
