import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { apiMetrics, type DeclaredMetric, pipelineMetrics, processMetrics } from '../../schemas/metrics.ts';
import { alertGroups, dashboard, expressions, labelsIn, metricsIn } from './monitoring-files.ts';

const declared: DeclaredMetric[] = [apiMetrics, pipelineMetrics, processMetrics].flatMap((metrics) =>
  Object.values(metrics),
);
const named = (name: string) =>
  declared.find((metric) => name === metric.name || name.replace(/_(bucket|sum|count)$/, '') === metric.name);

describe('the declared metrics', () => {
  test.each(declared.map((metric) => [metric.name, metric] as const))(
    '%s is named as Prometheus wants it',
    (name, { type, help }) => {
      expect(name).toMatch(/^headrace_[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name).not.toMatch(/_(ms|millis|mb|kb|minutes|hours)\b/);
      expect(help).toMatch(/\.$/);
    },
  );
});

describe('the dashboard and the alert rules', () => {
  test.each(expressions)('%s: %s uses declared labels', (_, expr) => {
    const metrics = metricsIn(expr);
    expect(metrics.length, 'it uses a metric').toBeGreaterThan(0);
    const known = new Set(['le', 'instance', 'job', ...metrics.flatMap((name) => named(name)?.labels ?? [])]);
    expect(labelsIn(expr).filter((label) => !known.has(label))).toEqual([]);
  });

  test('every declared metric is on the dashboard', () => {
    const shown = new Set(
      dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))),
    );
    const names = new Set([...shown].map((name) => named(name)?.name));
    expect(declared.filter(({ name }) => !names.has(name)).map(({ name }) => name)).toEqual([]);
  });

  test('panels do not overlap, and have numbers of their own', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });

  test('symptoms come first, and every alert says what it means and what to do', () => {
    expect(alertGroups.map(({ name }) => name)).toEqual(['headrace-symptoms', 'headrace-causes']);
    const rules = alertGroups.flatMap((group) => group.rules);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Headrace[A-Za-z]+$/);
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(annotations.summary && annotations.action, alert).toBeTruthy();
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});

test('OPERATIONS.md: every alert has its heading with its severity, in the order of the rules, and no other is explained', () => {
  const rules = alertGroups.flatMap((group) => group.rules);
  const text = readFileSync(new URL('../../deploy/OPERATIONS.md', import.meta.url), 'utf8');
  const explained = [...text.matchAll(/^### (Headrace\w+)\n\n\*(\w+)\.\*/gm)].map(([, name, severity]) => [
    name,
    severity,
  ]);
  expect(explained).toEqual(rules.map(({ alert, labels }) => [alert, labels.severity]));
});
