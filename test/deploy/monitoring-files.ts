/** The dashboard and the alert rules, as their expressions. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const read = (name: string) =>
  readFileSync(new URL(`../../deploy/monitoring/${name}`, import.meta.url), 'utf8');

interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}
export const alertGroups = parse(read('alerts.yaml')).groups as { name: string; rules: AlertRule[] }[];

interface Panel {
  id: number;
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}
export const dashboard = JSON.parse(read('dashboard.json')) as { panels: Panel[] };

export const expressions: [place: string, expr: string][] = [
  ...alertGroups.flatMap(({ rules }) => rules.map(({ alert, expr }): [string, string] => [alert, expr])),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, expr]),
  ),
];

/** Every metric of the service and of the Node client in an expression, with the suffixes of a histogram's series. */
export const metricsIn = (expr: string): string[] => [
  ...new Set(expr.match(/\b(headrace|process|nodejs)_[a-z0-9_]+\b/g)),
];

/** The labels that an expression groups by or selects on. */
export function labelsIn(expr: string): string[] {
  const grouped = [...expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(','));
  const selected = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) =>
    [...list!.matchAll(/(\w+)\s*[=!]/g)].map(([, name]) => name!),
  );
  return [...new Set([...grouped, ...selected].map((name) => name.trim()))];
}
