/** `headrace admin audit`: what operators did, when, and how it ended. */
import type { Command } from 'commander';
import type { AuditDocument } from '../../../../schemas/account-documents.ts';
import type { Environments } from '../../commands.ts';
import { between, pastTime } from '../../parse-options.ts';
import { none, when } from '../../show.ts';
import { adminTools } from '../runner.ts';
import { table } from '../views.ts';

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

const lines = (entries: AuditDocument[]) =>
  table(
    ['TIME', 'ACTOR', 'ACTION', 'PARTNER', 'OUTCOME', 'DETAILS'],
    entries.map((entry) => [
      when(entry.at),
      entry.actor,
      entry.action,
      entry.partner ?? none,
      entry.outcome,
      shownDetails(entry),
    ]),
    'no entries',
  );

export function register(admin: Command, environments: Environments): void {
  const { run, add } = adminTools(environments);
  add(admin, 'audit', 'show the audit log of admin commands, newest first')
    .option('--partner <id>', 'only actions on this partner')
    .option('--since <time>', 'only actions since 7d (ago), or since a time such as 2026-11-16', pastTime)
    .option('--limit <count>', 'maximum number of entries', between(1, 999_999), 100)
    .addHelpText(
      'after',
      '\nOutcomes: `done`, `failed`, or `intended` if the action is running or was interrupted; then check whether it took effect.',
    )
    .action((options: { partner?: string; since?: Date; limit: number }, command: Command) =>
      run.readOnly(command, async ({ audit }) => {
        const entries = await audit.list(options);
        return { json: entries.map(record), text: lines(entries) };
      }),
    );
}
