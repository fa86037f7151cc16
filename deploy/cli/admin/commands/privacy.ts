/** `headrace admin privacy …`: privacy requests. Identifiers are read from a file, so that shell histories have none. */
import { type Command, Option } from 'commander';
import { plural } from '../../../../api/client/format.ts';
import {
  devicesOf,
  type ShownRequest,
  shownOfRequest,
  toRequest,
} from '../../../../api/resources/privacy/privacy-records.ts';
import { secretsOf } from '../../../../pipeline/runtime/seal.ts';
import { ProvisioningError } from '../../../../pipeline/stores/partners.ts';
import { EVERYONE, type PrivacyType, privacyTypes } from '../../../../schemas/job-documents.ts';
import type { Environments } from '../../commands.ts';
import { statusNames, wholeNumber } from '../../parse-options.ts';
import { identifiersArgument, identifiersIn } from '../../read-identifiers.ts';
import { type Columns, none, when } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { displayName, list } from '../views.ts';

const LISTED = 100;

interface RequestOptions {
  type: PrivacyType;
  partner?: string;
  reason?: string;
}

const recordOf = (job: ShownRequest) => ({
  ...toRequest(job),
  partner_id: job.partner === EVERYONE ? null : job.partner,
});

const columns: Columns<ReturnType<typeof recordOf>> = {
  REQUEST: ({ request_id }) => String(request_id),
  TYPE: ({ type }) => type,
  PARTNER: ({ partner_id }) => partner_id ?? 'all',
  STATUS: ({ status }) => statusNames[status],
  IDENTIFIERS: ({ identifiers }) => identifiers ?? none,
  FOUND: ({ found }) => found ?? none,
  CREATED: ({ created_at }) => when(created_at),
};
const lines = (jobs: ShownRequest[]) => list(jobs.map(recordOf), columns, 'no privacy requests');

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  const privacy = admin
    .command('privacy')
    .description('privacy requests: delete, return or restore the data about devices');

  add(privacy, 'request', 'queue a request about the devices in a file, for all partners or for one')
    .argument('<file>', identifiersArgument)
    .addOption(new Option('--type <type>', 'what to do').choices([...privacyTypes]).makeOptionMandatory())
    .option('--partner <id>', 'only the data of this partner (default: all partners)')
    .option('--reason <text>', 'reason, such as a case number; no identifiers', displayName)
    .confirms((_file, { type, partner }: RequestOptions) =>
      type === 'delete'
        ? `Permanently delete the data of ${partner === undefined ? 'all partners' : `partner ${partner}`} about these devices, and suppress them in later loads?`
        : undefined,
    )
    .changes(async (context, file: string, { type, partner, reason }: RequestOptions) => {
      if (partner !== undefined) await context.partners.find(partner);
      const identifiers = identifiersIn(file);
      const { acceptJob } = await import('../accept-job.ts');
      const job = await acceptJob(context, {
        kind: 'privacy',
        privacy: type,
        partner: partner ?? EVERYONE,
        filePath: '',
        compressed: 'auto',
        source: 'operator',
        ...(reason === undefined ? {} : { reason }),
        identifiers: await context.identifierLists.store(identifiers, context.config.secret),
      });
      return {
        json: { request_id: job._id },
        text: [
          `request ${job._id} is queued: ${type} ${plural(identifiers.length, 'identifier')}`,
          `follow it with: headrace admin privacy show ${job._id}`,
        ],
      };
    });

  add(privacy, 'list', 'list privacy requests, newest first')
    .option('--partner <id>', 'only requests about the data of this partner')
    .reads(async ({ jobs }, options: { partner?: string }) => {
      const found = await jobs.listRequests(options.partner, shownOfRequest, { limit: LISTED });
      return { json: found.map(recordOf), text: lines(found) };
    });

  add(privacy, 'show', 'show a privacy request, with the data found by an access request')
    .argument('<request>', 'the request', wholeNumber)
    .discloses(async ({ config, ...stores }, id: number) => {
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
        ...(job.partner === EVERYONE ? {} : { partner: job.partner }),
      };
    });

  add(privacy, 'receipt', 'print the signed receipt of a request; it is kept longer than the request')
    .argument('<request>', 'the request', wholeNumber)
    .reads(async ({ receipts }, id: number) => {
      const receipt = await receipts.find(id);
      if (!receipt)
        throw new ProvisioningError('unknown_request', `there is no receipt for privacy request ${id}`);
      return { json: { request_id: id, receipt: receipt.jws }, text: [receipt.jws] };
    });
}
