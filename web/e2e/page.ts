/**
 * The page as tests use it. Every test fails if the page asked a foreign host
 * for anything, threw an error, or broke its Content-Security-Policy.
 */
import { expect, test as base, type Locator, type Page } from '@playwright/test';
import { hostUrl } from './host';
import { openLine, type Line } from './line';

export { expect };

interface Fixtures {
  line: Line;
  faults: string[];
}

export const test = base.extend<Fixtures>({
  // Each test has its own line, so that it can cut it.
  line: async ({}, use) => {
    const line = await openLine(hostUrl());
    await use(line);
    await line.close();
  },
  baseURL: async ({ line }, use) => use(line.url),
  faults: [
    async ({ page, line }, use) => {
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text());
      });
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(`${line.url}/`) && !url.startsWith('data:')) faults.push(`foreign request: ${url}`);
      });
      await use(faults);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

export const composer = (page: Page): Locator => page.getByRole('textbox', { name: 'Your question' });

/** The last answer on the page. */
export const answer = (page: Page): Locator => page.getByRole('article', { name: /^Answer/ }).last();

/** The text of an answer, without cards and reasoning. */
export const prose = (of: Locator): Locator => of.locator('.prose');

/** Chooses the models that answer. */
export async function pick(page: Page, first: string, ...others: string[]): Promise<void> {
  await page.getByRole('button', { name: /^Model:/ }).click();
  const menu = page.getByRole('group', { name: 'Model', exact: true });
  const row = (name: string): Locator => menu.locator('.row', { has: page.getByText(name, { exact: true }) });
  await row(first).getByRole('button').click();
  for (const name of others) {
    if (!(await menu.isVisible())) await page.getByRole('button', { name: /^Model:/ }).click();
    await row(name).getByRole('checkbox').check();
  }
  if (await menu.isVisible()) await page.keyboard.press('Escape');
}

/** Types a question and sends it. */
export async function ask(page: Page, question: string): Promise<void> {
  await composer(page).fill(question);
  await composer(page).press('Enter');
}

/**
 * Waits until the last answer has ended. Where there was an answer before, n says how many
 * there are with the one that is waited for: else the one before is the last for a moment.
 */
export async function ended(page: Page, n?: number): Promise<void> {
  if (n !== undefined) await expect(page.getByRole('article', { name: /^Answer/ })).toHaveCount(n);
  await expect(answer(page)).toHaveAttribute('aria-busy', 'false');
}

/** The place of something on the page, once it is drawn and stands still. */
export async function place(of: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await of.evaluate(async (node) => {
    const measure = (): DOMRect => node.getBoundingClientRect();
    for (let [last, still] = [measure(), 0]; still < 5; ) {
      await new Promise((done) => requestAnimationFrame(done));
      const next = measure();
      still = next.width > 0 && JSON.stringify(next) === JSON.stringify(last) ? still + 1 : 0;
      last = next;
    }
    const { x, y, width, height } = measure();
    return { x, y, width, height };
  });
  return box;
}
