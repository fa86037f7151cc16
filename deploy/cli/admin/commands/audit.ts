/** `headrace admin audit`: what operators did, when, and how it ended. */
import type { Command } from 'commander';
import type { AuditDocument } from '../../../../schemas/account-documents.ts';
import type { Environments } from '../../commands.ts';
import { between, pastTime } from '../../parse-options.ts';
import { type Columns, none, when } from '../../show.ts';
import { adminCommands } from '../runner.ts';
import { list } from '../views.ts';

const record = (entry: AuditDocument) => ({
  at: entry.at,
  actor: entry.actor,
  action: entry.action,
  partner_id: entry.partner,
  details: entry.details,
  outcome: entry.outcome,
  error: entry.error ?? null,
  ended_at: entry.endedAt ?? null,
});

/** The options as typed, without the partner, which has its own column. */
const shownDetails = ({ details, error }: AuditDocument) =>
  [
    ...Object.entries(details)
      .filter(([name]) => name !== 'partner')
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
    ...(error === undefined ? [] : [`(${error})`]),
  ].join(' ');

const columns: Columns<AuditDocument> = {
  TIME: ({ at }) => when(at),
  ACTOR: ({ actor }) => actor,
  ACTION: ({ action }) => action,
  PARTNER: ({ partner }) => partner ?? none,
  OUTCOME: ({ outcome }) => outcome,
  DETAILS: shownDetails,
};

export function register(admin: Command, environments: Environments): void {
  const add = adminCommands(environments);
  add(admin, 'audit', 'show the audit log of admin commands, newest first')
    .option('--partner <id>', 'only actions on this partner')
    .option('--since <time>', 'only actions since 7d (ago), or since a time such as 2026-11-16', pastTime)
    .option('--limit <count>', 'maximum number of entries', between(1, 999_999), 100)
    .addHelpText(
      'after',
      '\nOutcomes: `done`, `failed`, or `intended` if the action is running or was interrupted; then check whether it took effect.',
    )
    .reads(async ({ audit }, options: { partner?: string; since?: Date; limit: number }) => {
      const entries = await audit.list(options);
      return { json: entries.map(record), text: list(entries, columns, 'no entries') };
    });
}
