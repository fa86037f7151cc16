/** The scan of `npm run check` finds backtracking patterns. */
import { describe, expect, it } from 'vitest';
import { findBacktracking } from './find-backtracking.ts';

const patternsIn = (text: string, name = 'a.ts') =>
  findBacktracking(name, text).map(({ pattern }) => pattern);

describe('a regular expression that a client can make slow is found', () => {
  it.each([
    String.raw`/^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i`,
    String.raw`/\/+$/`,
    '/^(a+)+$/',
    String.raw`/^\d*\.?\d+$/`,
    'new RegExp(input)',
    'RegExp(start + input, "u")',
  ])('%s', (pattern) => {
    expect(patternsIn(`const one: RegExp = ${pattern};`)).toEqual([pattern]);
    expect(patternsIn(`const one = <p>{text.replace(${pattern}, '')}</p>;`, 'a.tsx')).toEqual([pattern]);
  });

  it('with its line', () => {
    expect(findBacktracking('a.ts', 'const a = 1;\nconst b = /a+a+$/;\n')).toEqual([
      { line: 2, pattern: '/a+a+$/', reason: 'quadratic or worse for a long run of "a"' },
    ]);
  });
});

it.each([
  String.raw`/(?<!\/)\/+$/`,
  String.raw`/^Bearer +([^\s]+) *$/i`,
  String.raw`/^[\x21-\x7e]{1,255}$/`,
  String.raw`/^(?:\d+|\d*\.\d+)$/`,
])('one that takes one look at each character is not: %s', (pattern) => {
  expect(patternsIn(`const one = ${pattern};`)).toEqual([]);
});

it('a file that cannot be parsed is an error, not a file without findings', () => {
  expect(() => findBacktracking('a.ts', 'const = /a+a+$/')).toThrow('a.ts');
});
