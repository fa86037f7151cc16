/** Records an operator's action in the audit log: first the entry, then the action, then its outcome. */
import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import type { AuditedAction, AuditedOutcome, AuditStore } from '../../../api/stores/audit.ts';
import { withoutIdentifiers } from '../../../pipeline/formats/find-identifiers.ts';
import { printLines } from '../../../pipeline/runtime/terminal.ts';
import type { Config } from '../../../schemas/config.ts';

const MAX_ERROR = 500;

/** A user of a container may have a number only. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export const actorOf = ({ actor }: Pick<Config, 'actor'>): string => actor ?? `${systemUser()}@${hostname()}`;

/** For the audit log and the screen: cuts a full API key to its id, and hides device identifiers. */
export const withoutSecret = (value: unknown): unknown =>
  typeof value === 'string'
    ? withoutIdentifiers(value.replace(/^((?:hr_)?[a-z0-9]{8})_[A-Za-z0-9_-]{43}$/, '$1'))
    : Array.isArray(value)
      ? value.map(withoutSecret)
      : value;

/** `headrace admin key create --partner p` → action `key create` and its options. */
export function describeCommand(command: Command): Omit<AuditedAction, 'actor'> {
  const names: string[] = [];
  for (let each: Command | null = command; each && each.name() !== 'admin'; each = each.parent)
    names.unshift(each.name());
  const { state: _, json: __, yes: ___, ...options } = command.opts<Record<string, unknown>>();
  const given = command.registeredArguments.map((argument, i) => [argument.name(), command.args[i]]);
  const details = Object.fromEntries(
    [...given, ...Object.entries(options)].map(([name, value]) => [name, withoutSecret(value)]),
  );
  return {
    action: names.join(' '),
    partner: typeof options.partner === 'string' ? withoutIdentifiers(options.partner) : null,
    details,
  };
}

/** The action starts only after its entry is stored. If the outcome cannot be stored, the entry stays `intended`. */
export async function recordAction<T extends { partner?: string | undefined }>(
  audit: AuditStore,
  action: AuditedAction,
  act: () => Promise<T>,
): Promise<T> {
  const entry = await audit.begin(action);
  const complete = (outcome: AuditedOutcome) =>
    audit
      .complete(entry, outcome)
      .catch((error: Error) =>
        printLines(process.stderr, [
          `headrace: the outcome was not written to the audit log: ${error.message}`,
        ]),
      );
  try {
    const result = await act();
    await complete({ outcome: 'done', partner: result.partner });
    return result;
  } catch (error) {
    const reason = withoutIdentifiers((error as Error).message).slice(0, MAX_ERROR);
    await complete({ outcome: 'failed', error: reason });
    throw error;
  }
}
