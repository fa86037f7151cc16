import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { ImportLog } from '../../api/client/types.ts';
import { quote, submitAgain } from '../../api/console/curl.ts';

const origin = 'http://localhost:8080';
const log = { key_type: 1, path_type: 0 } as ImportLog;

/** How a shell reads quoted text. */
const shellSees = (text: string) =>
  execFileSync('/bin/sh', ['-c', `printf %s ${text}`], { encoding: 'utf8' });

describe('a curl command', () => {
  it('has a placeholder for the key', () => {
    expect(submitAgain(origin, log, 'day-2.csv')).toBe(
      [
        "curl -X POST 'http://localhost:8080/v1/marketplace/import'",
        '-H "Authorization: Bearer $API_KEY"',
        "-H 'Content-Type: application/json'",
        `-d '{"file_path":"day-2.csv","key_type":1}'`,
      ].join(' \\\n  '),
    );
  });

  it('cannot be broken by a name', () => {
    for (const text of [`it's`, '$(rm -rf /)', '`id`', '"; exit', '\\', "''"])
      expect(shellSees(quote(text))).toBe(text);
  });

  it('submits a folder with `compressed`, and an own bucket with credentials to fill in', () => {
    expect(submitAgain(origin, log, 'day/')).toContain('"compressed":"auto"');
    const own = submitAgain(origin, { ...log, path_type: 1 }, 's3://bucket/day.csv');
    expect(own).toContain('"path_type":1,"credentials":{"accessKeyId":"YOUR_ACCESS_KEY_ID"');
  });
});
