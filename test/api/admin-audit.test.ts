/** The audit log: every admin action has an entry, and no entry contains a secret. */
import { hostname, userInfo } from 'node:os';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiStores, createApiStores } from '../../api/stores/api-stores.ts';
import { recordAction } from '../../deploy/cli/admin/record-action.ts';
import { registerCommands } from '../../deploy/cli/commands.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { draftPartner } from '../../pipeline/stores/partners.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { runAdmin } from '../support/run-admin.ts';

const database = openDatabase();
let stores: ApiStores;
let partner: string;
beforeAll(async () => {
  await ensureIndexes(database.db);
  stores = createApiStores(database.db);
  const drafted = draftPartner('Audited');
  partner = drafted._id;
  await stores.partners.insert(drafted);
});

const run = (args: string[], more: Record<string, string> = {}) =>
  runAdmin(args, { ...database.env, ...more });
// biome-ignore lint/suspicious/noExplicitAny: what the command printed
const audit = async (...args: string[]): Promise<any[]> => {
  const { stdout, stderr } = await run(['audit', ...args, '--json']);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};
const newest = async () => (await audit('--limit', '1'))[0];

/** Commands that change nothing and reveal neither credentials nor the data about a device. */
const reading = [
  'audit',
  'attribute list',
  'drop status',
  'job list',
  'job show',
  'key list',
  'partner list',
  'partner usage',
  'privacy list',
  'privacy receipt',
  'token-key list',
  'webhook list',
];

function leavesOf(command: Command, path: string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(' ')];
  return command.commands.flatMap((each) => leavesOf(each, [...path, each.name()]));
}

describe('the audit log', () => {
  it('has who, when, what, on whom and how it ended', async () => {
    const args = ['attribute', 'create', '--partner', partner, '--name', 'Red', '--foreign-key', 'r'];
    expect((await run(args)).code).toBe(0);
    const entry = await newest();
    expect(entry).toEqual({
      at: expect.any(String),
      actor: `${userInfo().username}@${hostname()}`,
      action: 'attribute create',
      partner_id: partner,
      details: { partner, name: 'Red', foreignKey: 'r' },
      outcome: 'done',
      error: null,
      ended_at: expect.any(String),
    });
    expect(Date.parse(entry.ended_at)).toBeGreaterThanOrEqual(Date.parse(entry.at));
  });

  it('names HEADRACE_ACTOR where it is set, and tells why an action failed', async () => {
    const args = ['attribute', 'create', '--partner', partner, '--name', 'Red', '--foreign-key', 'r'];
    expect((await run(args, { HEADRACE_ACTOR: 'ada' })).code).toBe(1);
    expect(await newest()).toMatchObject({
      actor: 'ada',
      outcome: 'failed',
      error: expect.stringContaining('r'),
    });
  });

  it('names the partner that only the action finds out, and never a whole key', async () => {
    const { id, key } = await stores.apiKeys.create(parseConfig(database.env).secret, partner);
    expect((await run(['key', 'revoke', '--yes', '--key', key])).code).toBe(0);
    expect(await newest()).toMatchObject({
      action: 'key revoke',
      partner_id: partner,
      details: { key: `hr_${id}` },
    });
    const stored = JSON.stringify(await database.db.collection(collections.audit).find().toArray());
    expect(stored).not.toContain(key.slice(12));
  });

  it('can be narrowed by partner and time, newest first', async () => {
    const other = draftPartner('Other');
    await stores.partners.insert(other);
    expect((await run(['attribute', 'create', '--partner', other._id, '--name', 'x'])).code).toBe(0);
    expect(await audit('--partner', other._id)).toMatchObject([{ partner_id: other._id }]);
    const all = await audit();
    expect(all.length).toBeGreaterThan(1);
    expect(all.map(({ at }) => at)).toEqual(
      all
        .map(({ at }) => at)
        .toSorted()
        .reverse(),
    );
    expect(await audit('--since', all[0].at)).toEqual([all[0]]);
    expect(await audit('--since', '7d')).toEqual(all);
    const { stdout } = await run(['audit', '--partner', other._id]);
    expect(stdout).toMatch(/attribute create +\S+ +done +name=x/);
    expect((await run(['audit', '--since', 'soon'])).stderr).toContain("option '--since <time>'");
  });
});

describe('an admin action', () => {
  it('is recorded, whichever it is, unless it only reads', async () => {
    const program = new Command('headrace');
    await registerCommands(program, 'admin');
    const recorded = leavesOf(program.commands[0]!).filter((leaf) => !reading.includes(leaf));
    // Each command fails at its first query, but still leaves an entry.
    const anything: Record<string, string[]> = {
      'partner create': ['--name', 'x'],
      'partner quota': ['--partner', 'p-none', '--pending-jobs', '1'],
      'partner suspend': ['--yes', '--partner', 'p-none'],
      'partner resume': ['--partner', 'p-none'],
      'storage-key rotate': ['--partner', 'p-none'],
      'storage-key retire': ['--yes', '--partner', 'p-none'],
      'key rotate': ['--key', 'none'],
      'key create': ['--partner', 'p-none'],
      'key revoke': ['--yes', '--key', 'none'],
      'token-key create': ['--partner', 'p-none'],
      'token-key rotate': ['--key', 'none'],
      'token-key retire': ['--yes', '--key', 'none'],
      'attribute create': ['--partner', 'p-none', '--name', 'x'],
      'attribute import': ['/nowhere', '--partner', 'p-none'],
      'attribute associate': ['--attribute', '1', '--foreign-key', 'x'],
      'attribute visibility': ['--attribute', '1', '--private'],
      'attribute rename': ['--attribute', '1', '--name', 'x'],
      'attribute delete': ['--yes', '--attribute', '1'],
      'device show': ['6d92078a-8246-4ba4-ae5b-76104861e7dc'],
      'privacy show': ['1'],
      'privacy request': ['--yes', '/nowhere', '--type', 'delete'],
      'drop sync': [],
      'user-token': ['--partner', 'p-none', '--customer', 'c'],
      'job cancel': ['--yes', '1'],
      'job drop': ['--yes', '1'],
      'job retry': ['1'],
      restored: [],
      'secret rotate': [],
      'signing-key rotate': [],
      'webhook remove': ['--yes', '--partner', 'p-none', '--webhook', '1'],
    };
    expect(Object.keys(anything).toSorted()).toEqual(recorded.toSorted());
    await Promise.all(
      Object.entries(anything).map(([leaf, args]) =>
        run([...leaf.split(' '), ...args], {
          HEADRACE_ACTOR: leaf,
          HEADRACE_S3_ENDPOINT: 'http://127.0.0.1:1',
        }),
      ),
    );
    const seen = (await audit()).filter(({ actor, action }) => actor === action);
    expect(seen.map(({ action }) => action).toSorted()).toEqual(recorded.toSorted());
    expect(seen.find(({ action }) => action === 'device show').details).toEqual({
      identifier: '(identifier)',
    });
  });

  it('has its entry before it begins, and does not begin without one', async () => {
    const action = { actor: 'ada', action: 'test', partner, details: {} };
    await recordAction(stores.audit, action, async () => {
      expect(await newest()).toMatchObject({ action: 'test', outcome: 'intended', ended_at: null });
      return {};
    });
    expect(await newest()).toMatchObject({ action: 'test', outcome: 'done' });
    await database.db.command({ collMod: collections.audit, validator: { nothing: 'passes' } });
    try {
      const before = await stores.apiKeys.list(partner);
      expect((await run(['key', 'create', '--partner', partner])).code).not.toBe(0);
      expect(await stores.apiKeys.list(partner)).toEqual(before);
    } finally {
      await database.db.command({ collMod: collections.audit, validator: {} });
    }
  });
});
