/** Writes the report as JSON and as a web page. */
import { accessSync, constants, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CommandError, exitCodes, usageError } from '../partner/exit-codes.ts';
import type { LoadReport } from './report.ts';
import { reportPage } from './report-page.ts';

interface ReportPaths {
  json: string;
  html: string;
}

/** Fails before the load test, not after it. */
export function reportPaths(name: string): ReportPaths {
  const base = name.replace(/\.(json|html)$/, '');
  try {
    accessSync(dirname(base), constants.W_OK);
  } catch (error) {
    throw usageError(`--report ${name}: ${(error as Error).message}`);
  }
  return { json: `${base}.json`, html: `${base}.html` };
}

export function writeReport({ json, html }: ReportPaths, report: LoadReport): void {
  try {
    writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
    writeFileSync(html, reportPage(report));
  } catch (error) {
    throw new CommandError(exitCodes.failed, 'unwritable', (error as Error).message);
  }
}
