/** A real browser for the tests of a file: every page has a fresh context, and errors in the browser's console fail the test. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { QUIET_MS } from '../../support/wait-for.ts';
import { launchChromium } from './chromium.ts';

interface PageOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly timezone?: string;
  /** Messages that this test provokes, for instance while the API is stopped. */
  readonly tolerated?: RegExp;
}

/** A response of 4xx is what the page shows its reader, not an error of the page. */
const isAnswer = (text: string) => /^Failed to load resource: .* status of 4\d\d/.test(text);

function collectComplaints(page: Page, complaints: string[], tolerated?: RegExp): void {
  const complain = (text: string) => {
    if (!isAnswer(text) && !tolerated?.test(text)) complaints.push(text);
  };
  page.on('console', (message) => message.type() === 'error' && complain(message.text()));
  page.on('pageerror', (error) => complain(String(error)));
}

/** Some policy violations reach the page only as an event. */
const reportViolations = () =>
  document.addEventListener('securitypolicyviolation', (event) =>
    console.error(`CSP: ${event.violatedDirective} forbids ${event.blockedURI} at ${event.sourceFile}`),
  );

/** One browser for all files of this worker; it ends with the worker. */
let launched: Promise<Browser> | undefined;

export function useBrowser() {
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];

  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  });

  return {
    /** A page in a new browser context. */
    async open({ theme = 'light', width = 1280, timezone, tolerated }: PageOptions = {}): Promise<Page> {
      launched ??= launchChromium();
      const context = await (await launched).newContext({
        // Without a locale, the browser of a bare machine names a language that Intl refuses.
        locale: 'en-US',
        colorScheme: theme,
        viewport: { width, height: 800 },
        ...(timezone ? { timezoneId: timezone } : {}),
        acceptDownloads: true,
      });
      contexts.push(context);
      context.setDefaultTimeout(QUIET_MS);
      await context.addInitScript(reportViolations);
      context.on('page', (page) => collectComplaints(page, complaints, tolerated));
      return context.newPage();
    },
  };
}
