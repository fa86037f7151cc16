/** `headrace admin privacy …`: privacy requests. Identifiers are read from a file, so that shell histories have none. */
import { type Command, Option } from 'commander';
import { count, plural } from '../../../../api/client/format.ts';
import {
  devicesOf,
  type ShownRequest,
  shownOfRequest,
  toRequest,
} from '../../../../api/resources/privacy/privacy-records.ts';
import { CommandFailed } from '../../../../pipeline/runtime/errors.ts';
import { secretsOf } from '../../../../pipeline/runtime/seal.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import { parseConfig } from '../../../../schemas/config.ts';
import { EVERYONE, type PrivacyType, privacyTypes } from '../../../../schemas/job-documents.ts';
import type { Environments } from '../../commands.ts';
import { yesOption } from '../../confirm.ts';
import { wholeNumber } from '../../parse-options.ts';
import { identifiersArgument, identifiersIn } from '../../read-identifiers.ts';
import { when } from '../../show.ts';
import { adminTools, type Work } from '../runner.ts';
import { displayName, table } from '../views.ts';

const statuses = ['pending', 'running', 'done', 'error'];
const LISTED = 100;

interface RequestOptions {
  type: PrivacyType;
  partner?: string;
  reason?: string;
  state?: string;
}

const recordOf = (job: ShownRequest) => ({
  ...toRequest(job),
  partner_id: job.partner === EVERYONE ? null : job.partner,
});

const lines = (jobs: ShownRequest[]) =>
  table(
    ['REQUEST', 'TYPE', 'PARTNER', 'STATUS', 'IDENTIFIERS', 'FOUND', 'CREATED'],
    jobs.map((job) => {
      const { request_id, type, partner_id, status, identifiers, found, created_at } = recordOf(job);
      const number = (value: number | null) => (value === null ? '–' : count(value));
      return [
        String(request_id),
        type,
        partner_id ?? 'all',
        statuses[status]!,
        number(identifiers),
        number(found),
        when(created_at),
      ];
    }),
    'no privacy requests',
  );

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  const privacy = admin
    .command('privacy')
    .description('privacy requests: delete, return or restore the data about devices');

  add(privacy, 'request', 'queue a request about the devices in a file, for all partners or for one')
    .argument('<file>', identifiersArgument)
    .addOption(new Option('--type <type>', 'what to do').choices([...privacyTypes]).makeOptionMandatory())
    .option('--partner <id>', 'only the data of this partner (default: all partners)')
    .option('--reason <text>', 'reason, such as a case number; no identifiers', displayName)
    .option(...yesOption)
    .action((file: string, options: RequestOptions, command: Command) => {
      const { type, partner, reason } = options;
      const whose = partner === undefined ? 'all partners' : `partner ${partner}`;
      const question = `Permanently delete the data of ${whose} about these devices, and suppress them in later loads?`;
      const work: Work = async (stores, config) => {
        if (partner !== undefined) await stores.partners.find(partner);
        const identifiers = identifiersIn(file, (code, message) => new CommandFailed(code, message));
        // Loads the Kafka client, which no other command here needs.
        const { acceptJob } = await import('../accept-job.ts');
        const operator = parseConfig(environments.load(options.state), 'operator');
        const job = await acceptJob(stores, operator, {
          ...{
            kind: 'privacy',
            privacy: type,
            partner: partner ?? EVERYONE,
            filePath: '',
            compressed: 'auto',
          },
          source: 'operator',
          ...(reason === undefined ? {} : { reason }),
          identifiers: await stores.identifierLists.store(identifiers, config.secret),
        });
        return {
          json: { request_id: job._id },
          text: [
            `request ${job._id} is queued: ${type} ${plural(identifiers.length, 'identifier')}`,
            `follow it with: headrace admin privacy show ${job._id}`,
          ],
        };
      };
      return type === 'delete' ? run.confirmed(command, question, work) : run(command, work);
    });

  add(privacy, 'list', 'list privacy requests, newest first')
    .option('--partner <id>', 'only requests about the data of this partner')
    .action((options: { partner?: string }, command: Command) =>
      run.readOnly(command, async ({ jobs }) => {
        const found = await jobs.listRequests(options.partner, shownOfRequest, { limit: LISTED });
        return { json: found.map(recordOf), text: lines(found) };
      }),
    );

  add(privacy, 'show', 'show a privacy request, with the data found by an access request')
    .argument('<request>', 'the request', wholeNumber)
    .action((id: number, _options, command: Command) =>
      run.readOnly(command, async (stores, config) => {
        const job = await stores.jobs.findRequest(undefined, id, shownOfRequest);
        if (!job) throw new ProvisioningError('unknown_request', `there is no privacy request ${id}`);
        const found = await devicesOf(stores, job, secretsOf(config));
        const devices: object[] | null = found && [];
        for await (const device of found ?? []) devices!.push(device);
        const receipt = (await stores.receipts.find(id))?.jws ?? null;
        return {
          json: { ...recordOf(job), devices, receipt },
          text: [
            ...lines([job]),
            ...(job.errors ?? []).map(({ message }) => message),
            ...(devices ?? []).map((device) => JSON.stringify(device)),
          ],
        };
      }),
    );

  add(privacy, 'receipt', 'print the signed receipt of a request; it is kept longer than the request')
    .argument('<request>', 'the request', wholeNumber)
    .action((id: number, _options, command: Command) =>
      run.readOnly(command, async ({ receipts }) => {
        const receipt = await receipts.find(id);
        if (!receipt)
          throw new ProvisioningError('unknown_request', `there is no receipt for privacy request ${id}`);
        return { json: { request_id: id, receipt: receipt.jws }, text: [receipt.jws] };
      }),
    );
}
