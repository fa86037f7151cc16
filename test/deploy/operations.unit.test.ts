/** deploy/OPERATIONS.md: what it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alertGroups } from './monitoring-files.ts';

const file = new URL('../../deploy/OPERATIONS.md', import.meta.url);
const text = readFileSync(file, 'utf8');
const headingsIn = (markdown: string) => [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
/** As GitHub makes them. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

test('every alert has its heading with its severity, in the order of the rules, and no other is explained', () => {
  const rules = alertGroups.flatMap((group) => group.rules);
  const explained = [...text.matchAll(/^### (Headrace\w+)\n\n\*(\w+)\.\*/gm)].map(([, name, severity]) => [
    name,
    severity,
  ]);
  expect(explained).toEqual(rules.map(({ alert, labels }) => [alert, labels.severity]));
});

test('every link leads somewhere', () => {
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
  const broken = links.filter((link) => {
    const [path, anchor] = link.split('#');
    const target = path ? new URL(path, file) : file;
    if (!existsSync(target)) return true;
    return anchor && !headingsIn(readFileSync(target, 'utf8')).map(anchorOf).includes(anchor);
  });
  expect(broken).toEqual([]);
});
