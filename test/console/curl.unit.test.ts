import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { ImportLog } from '../../api/client/types.ts';
import { appendFile, curl, quote, submitAgain } from '../../api/console/curl.ts';

const target = { origin: 'http://localhost:8080', forCustomer: false };
const log = { key_type: 1, path_type: 0 } as ImportLog;

/** What a shell makes of a text that was quoted for it. */
const shellSees = (text: string) =>
  execFileSync('/bin/sh', ['-c', `printf %s ${text}`], { encoding: 'utf8' });

describe('a curl command', () => {
  it('has a placeholder for the key', () => {
    expect(appendFile(target, 42, 'day-2/')).toBe(
      [
        "curl -X PATCH 'http://localhost:8080/v2/firstparty/audience/42'",
        '-H "Authorization: Bearer $API_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"file_path":"day-2/"}'`,
      ].join(' \\\n  '),
    );
  });

  it('asks for the token of a customer', () => {
    expect(curl({ ...target, forCustomer: true }, { path: '/x' })).toContain(
      '-H "x-user-token: $USER_TOKEN"',
    );
  });

  it('cannot be broken by a name', () => {
    for (const text of [`it's`, '$(rm -rf /)', '`id`', '"; exit', '\\', "''"])
      expect(shellSees(quote(text))).toBe(text);
  });

  it('submits a folder with `compressed`, and an own bucket with credentials to fill in', () => {
    expect(submitAgain(target, log, 'day/')).toContain('"compressed":"auto"');
    const own = submitAgain(target, { ...log, path_type: 1 }, 's3://bucket/day.csv');
    expect(own).toContain('"path_type":1,"credentials":{"accessKeyId":"YOUR_ACCESS_KEY_ID"');
  });
});
