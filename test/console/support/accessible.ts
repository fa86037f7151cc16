/** A page in both themes and both widths: axe finds no violation, and nothing needs to be scrolled sideways. */
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** HEADRACE_TEST_SCREENSHOTS=DIRECTORY keeps a screenshot of everything that is checked. */
const directory = process.env.HEADRACE_TEST_SCREENSHOTS;

/** The rules about colours: in the second theme only they can find something new. */
const aboutColours = ['color-contrast', 'link-in-text-block'];

export async function expectAccessible(page: Page, name: string, rules?: string[]): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const { found, wide, visible } = await page.evaluate(async (only) => {
    const tool = (window as unknown as { axe: typeof axe }).axe;
    // Requesting only violations is five times as fast.
    const chosen = only ? { runOnly: only } : {};
    const { violations } = await tool.run(document, { resultTypes: ['violations'], ...chosen });
    return {
      found: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`)),
      wide: document.documentElement.scrollWidth,
      visible: window.innerWidth,
    };
  }, rules);
  expect(found, name).toEqual([]);
  expect(wide, `${name} is as wide as the screen`).toBeLessThanOrEqual(visible);
}

/** Leaves the page light and wide. */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const [theme, width] of [
    ['dark', 360],
    ['light', 360],
    ['dark', 1_280],
    ['light', 1_280],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    const rules = theme === 'dark' ? aboutColours : undefined;
    await expectAccessible(page, `${name}, ${theme}, ${width} px`, rules);
    if (directory)
      await page.screenshot({ path: join(directory, `${name}-${theme}-${width}.png`), fullPage: true });
  }
}
