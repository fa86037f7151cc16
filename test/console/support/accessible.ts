/** A page in both themes and both widths: axe finds no violation, and nothing needs to be scrolled sideways. */
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** HEADRACE_TEST_SCREENSHOTS=DIRECTORY keeps a screenshot of everything that is checked. */
const directory = process.env.HEADRACE_TEST_SCREENSHOTS;

export async function expectAccessible(page: Page, name: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const { found, wide, visible } = await page.evaluate(async () => {
    const tool = (window as unknown as { axe: typeof axe }).axe;
    // Requesting only violations is five times as fast.
    const { violations } = await tool.run(document, { resultTypes: ['violations'] });
    return {
      found: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`)),
      wide: document.documentElement.scrollWidth,
      visible: window.innerWidth,
    };
  });
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
    await expectAccessible(page, `${name}, ${theme}, ${width} px`);
    if (directory)
      await page.screenshot({ path: join(directory, `${name}-${theme}-${width}.png`), fullPage: true });
  }
}
