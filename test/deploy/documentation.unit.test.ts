/** Everything that the documentation pages name exists. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { introduction } from '../../api/describe/introduction.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { isClientVariable } from '../../schemas/client-variables.ts';
import { environmentVariables, parseConfig } from '../../schemas/config.ts';
import { blocksIn, commandsIn, pages, spansIn, withoutBlocks } from '../support/documentation.ts';
import { readConfigFile } from '../support/env-file.ts';
import { wholeProgram } from '../support/whole-program.ts';
import { notRun, readme } from './readme-commands.ts';

const root = new URL('../../', import.meta.url);
const exists = (path: string) => existsSync(new URL(path, root));
const program = await wholeProgram();

/** Anchors as GitHub generates them. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
const anchorsIn = (markdown: string) =>
  [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));

function linksIn(markdown: string): string[] {
  const text = withoutBlocks(markdown);
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/<img src="([^"]+)"/g)];
  return links.map(([, link]) => link!).filter((link) => !/^https?:/.test(link));
}

function isBroken(page: string, link: string): boolean {
  const [path, anchor] = link.split('#');
  const target = path ? new URL(path, new URL(page, root)).pathname.slice(root.pathname.length) : page;
  if (!exists(target)) return true;
  return anchor !== undefined && !anchorsIn(pages[target] ?? '').includes(anchor);
}

/** The uses of `headrace` in a page's code, each up to the end of the command. */
function usesIn(markdown: string): string[] {
  const code = [
    ...spansIn(markdown),
    ...blocksIn(markdown)
      .filter(({ language }) => language === '' || language === 'sh')
      .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n')),
  ];
  const named = code.flatMap((line) =>
    [...line.matchAll(/(?:^|npx |\.\/|[$(] ?)headrace ([a-z][^|<>&;()…]*)/g)].map(([, use]) => use!),
  );
  const groups = program.commands.filter(({ commands }) => commands.length > 0).map((one) => one.name());
  const short = spansIn(markdown).filter(
    (span) => groups.includes(span.split(' ')[0]!) && span.includes(' '),
  );
  return [...named, ...short].map((use) => use.trim());
}

/** Why there is no such command, or undefined. */
function problemOf(use: string): string | undefined {
  const words = use.split(/\s+/);
  let command: Command = program;
  while (command.commands.length > 0 && words.length > 0) {
    const next = command.commands.find((one) => one.name() === words[0]);
    if (!next) return `${use}: no command ${words[0]}`;
    command = next;
    words.shift();
  }
  const flags = words.map((word) => /^--[a-z-]+/.exec(word)?.[0]).filter((flag) => flag !== undefined);
  const unknown = flags.filter(
    (flag) => flag !== '--help' && command.options.every(({ long }) => long !== flag),
  );
  return unknown.length > 0 ? `${use}: no option ${unknown}` : undefined;
}

const ours = /^(?:api|deploy|pipeline|schemas|test)\/[\w./-]+$/;
/** A page may name a test without its suffix, or by its folder. */
function isThere(path: string): boolean {
  if (exists(path)) return true;
  const [folder, name] = [dirname(path), path.slice(dirname(path).length + 1)];
  return (
    exists(folder) && readdirSync(new URL(`${folder}/`, root)).some((file) => file.startsWith(`${name}.`))
  );
}

test('the README has at most 250 lines', () => {
  expect(pages['README.md']!.trimEnd().split('\n').length).toBeLessThanOrEqual(250);
});

test('the README shows every command', () => {
  const shown = commandsIn(pages['README.md']!)
    .map(({ command }) => command)
    .join('\n');
  const missing = program.commands
    .map((command) => command.name())
    .filter((name) => !shown.includes(`headrace ${name}`));
  // compose.yaml runs the first, and `npm start` is the demo.
  expect(missing).toEqual(['compose-setup', 'demo']);
});

test('npx headrace is for a clone: elsewhere it would run a package of whoever registers that name', () => {
  const config = parseConfig(readConfigFile('minimal.env'));
  for (const text of [pages['api/README.md']!, introduction(config)]) expect(text).not.toMatch(/npx\b/);
});

test('README, package.json and the bootstrap name the same oldest Node', () => {
  const oldest = packageJson.engines.node.replace('>=', '');
  for (const page of ['README.md', 'api/README.md']) expect(pages[page]).toContain(`${oldest} or newer`);
});

test('what the test of the README does not run is still shown there', () => {
  expect(Object.keys(notRun).filter((command) => !readme.shown.includes(command))).toEqual([]);
});

describe.each(Object.entries(pages))('%s', (page, text) => {
  test('every link leads somewhere', () => {
    expect(linksIn(text).filter((link) => isBroken(page, link))).toEqual([]);
  });

  test('every command of headrace is there, with its options', () => {
    expect(usesIn(text).map(problemOf).filter(Boolean)).toEqual([]);
  });

  test('every npm script is there', () => {
    const named = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script!);
    expect(named.filter((script) => !(script in packageJson.scripts))).toEqual([]);
  });

  test('every setting is there', () => {
    const named = [...text.matchAll(/\bHEADRACE_[A-Z0-9_]*[A-Z0-9]\b/g)].map(([name]) => name);
    const isKnown = (name: string) =>
      [name, name.replace(/_FILE$/, '')].some((one) => (environmentVariables as string[]).includes(one)) ||
      isClientVariable(name) ||
      /^HEADRACE_TEST_(?:SCREENSHOTS|SEED)$/.test(name);
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });

  test('every file of ours is there', () => {
    expect(spansIn(text).filter((span) => ours.test(span) && !isThere(span))).toEqual([]);
  });
});
