/** The dependency check finds problems, and reports what it could not determine. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { licencePage, licenceProblems, renderLicences } from '../../deploy/dependencies/licences.ts';
import {
  checkIntegrity,
  type LockedPackage,
  parseLockFile,
  readLockFile,
} from '../../deploy/dependencies/lock-file.ts';
import { findUnmaintained, readAudit } from '../../deploy/dependencies/registry.ts';

const locked = (changes: Partial<LockedPackage>): LockedPackage => ({
  name: 'a',
  version: '1.0.0',
  integrity: 'sha512-x',
  resolved: undefined,
  license: 'MIT',
  isProduction: true,
  isForOtherPlatform: false,
  ...changes,
});

describe('package-lock.json', () => {
  test('has an integrity for every package that is used on Linux, and names no registry', () => {
    expect(checkIntegrity(readLockFile()).problems).toEqual([]);
    const problemsOf = (changes: Partial<LockedPackage>) => checkIntegrity([locked({}), locked(changes)]);
    expect(problemsOf({ name: 'b', integrity: undefined })).toEqual({
      problems: ['b@1.0.0 has no sha512 integrity in package-lock.json'],
      unknown: [],
    });
    expect(problemsOf({ integrity: 'sha1-x' }).problems).toHaveLength(1);
    expect(problemsOf({ resolved: 'https://registry.example/a.tgz' }).problems).toHaveLength(1);
    const other = { integrity: undefined, isForOtherPlatform: true };
    expect(problemsOf(other).problems).toHaveLength(1);
    const tool = problemsOf({ ...other, isProduction: false });
    expect([tool.problems, tool.unknown.length]).toEqual([[], 1]);
  });

  test('no install script runs', () => {
    expect(readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  test('nested packages have their own names', () => {
    const packages = {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/a/node_modules/@b/c': { version: '2.0.0', dev: true },
      'node_modules/d': { version: '3.0.0', optional: true, os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    };
    expect(parseLockFile(JSON.stringify({ packages }))).toMatchObject([
      { name: 'a', version: '1.0.0', isProduction: true },
      { name: '@b/c', version: '2.0.0', isProduction: false },
      { name: 'd', isForOtherPlatform: true },
    ]);
  });
});

describe('licences', () => {
  test('all are allowed, and deploy/LICENCES.md is current', () => {
    expect(licenceProblems(readLockFile())).toEqual([]);
    expect(readFileSync(licencePage, 'utf8')).toBe(renderLicences(readLockFile()));
  });

  test.each([
    ['(MIT OR GPL-3.0)', 0],
    ['MIT AND ISC', 0],
    ['MIT AND GPL-3.0', 1],
    ['GPL-3.0', 1],
    [undefined, 1],
  ])('%s', (license, problems) => {
    expect(licenceProblems([locked({ license })])).toHaveLength(problems);
    expect(licenceProblems([locked({ license, isProduction: false })])).toEqual([]);
  });
});

describe('what the registry says', () => {
  const released = (day: string, versions: object = { '1.0.0': {} }) => ({
    'dist-tags': { latest: '1.0.0' },
    time: { '1.0.0': `${day}T00:00:00Z` },
    versions,
  });
  const answers: Record<string, object> = {
    '/kafkajs': released('2023-02-27'),
    '/old': released('2020-01-01'),
    '/@s%2fgone': released('2026-01-01', { '1.0.0': { deprecated: 'use b' }, '2.0.0': {} }),
    '/good': released('2026-01-01'),
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url!];
    response.writeHead(answer ? 200 : 503).end(JSON.stringify(answer ?? {}));
  });
  let registry: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => server.close());
  const find = (names: string[], direct: string[] = names, version = '1.0.0') =>
    findUnmaintained(
      registry,
      ['kafkajs', ...names].map((name) => locked({ name, version })),
      new Set(['kafkajs', ...direct]),
      Date.parse('2026-11-16'),
    );

  test('deprecated versions, and direct dependencies without a release for years', async () => {
    expect(await find(['good', 'old', '@s/gone'])).toEqual({
      problems: expect.arrayContaining([
        'old has had no release since 2020-01-01',
        '@s/gone 1.0.0 is deprecated: use b',
      ]),
      unknown: [],
    });
    expect(await find(['good', 'old'], ['good'])).toEqual({ problems: [], unknown: [] });
    expect(await find(['@s/gone'], [], '2.0.0')).toEqual({ problems: [], unknown: [] });
  });

  test('what it does not answer is told', async () => {
    expect(await find(['nowhere', 'good'])).toEqual({ problems: [], unknown: ['nowhere: status 503'] });
  });

  test('an audit: each advisory once; one that was not answered is told', () => {
    const advisory = { url: 'https://example.com/1', title: 'bad', severity: 'high' };
    const vulnerabilities = { a: { name: 'a', via: [advisory] }, b: { name: 'b', via: ['a'] } };
    expect(readAudit(JSON.stringify({ vulnerabilities }))).toEqual({
      problems: ['a (high): bad https://example.com/1'],
      unknown: [],
    });
    expect(readAudit('{"vulnerabilities":{}}')).toEqual({ problems: [], unknown: [] });
    const refused = { message: 'Not Found', error: { code: 'ENOAUDIT', summary: 'endpoint does not exist' } };
    expect(readAudit(JSON.stringify(refused)).unknown).toEqual(['npm audit: endpoint does not exist']);
    expect(readAudit('').unknown).toEqual(['npm audit: no answer']);
    expect(readAudit('<html>').unknown).toEqual(['npm audit: <html>']);
  });
});
