/** deploy/OPERATIONS.md explains the alerts. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alertGroups } from './monitoring-files.ts';

const text = readFileSync(new URL('../../deploy/OPERATIONS.md', import.meta.url), 'utf8');

test('every alert has its heading with its severity, in the order of the rules, and no other is explained', () => {
  const rules = alertGroups.flatMap((group) => group.rules);
  const explained = [...text.matchAll(/^### (Headrace\w+)\n\n\*(\w+)\.\*/gm)].map(([, name, severity]) => [
    name,
    severity,
  ]);
  expect(explained).toEqual(rules.map(({ alert, labels }) => [alert, labels.severity]));
});
