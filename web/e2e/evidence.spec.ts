import type { Page } from '@playwright/test';
import { SLOW_WORDS, poke, slowText } from './host';
import { answer, ask, ended, expect, pick, place, prose, test } from './page';
import { setStage } from './stage';

/** The text under a highlight of that name, range by range. */
const highlighted = (page: Page, name: string): Promise<string[]> =>
  page.evaluate((name) => [...(CSS.highlights.get(name) ?? [])].map((range) => (range as Range).toString()), name);

async function doubted(page: Page): Promise<void> {
  const stage = await setStage(page, 'doubt');
  await page.goto('/');
  await ask(page, 'How much oil does the light burn?');
  await stage.play();
  await ended(page);
}

test('what a source does not carry is underlined and says why; what it carries is not', async ({ page }) => {
  await doubted(page);
  await expect(answer(page).locator('.chip')).toHaveText(['1', '1', '2']);
  await expect(answer(page).locator('.chip').nth(0)).toHaveAttribute('aria-label', 'Source 1: Log of the light');
  await expect(answer(page).locator('.chip-weak')).toHaveAttribute('aria-label', /supports this weakly: the log says “less”/);
  await expect(answer(page).locator('.chip-absent')).toHaveAttribute('aria-label', /does not support this: it tells of a change of lamp/);
  await expect
    .poll(async () => (await highlighted(page, 'doubt')).map((t) => t.trim()))
    .toEqual(['in June it needs about half of that', 'The lamp has shown a red flash since 1878']);
  // It goes with the answer.
  await page.getByRole('button', { name: 'New chat' }).click();
  await expect.poll(() => highlighted(page, 'doubt')).toEqual([]);
});

test('a chip shows its source where it is pointed at, and in full when it is opened', async ({ page }) => {
  await doubted(page);
  const card = page.getByRole('tooltip');
  await answer(page).locator('.chip').nth(0).hover();
  await expect(card).toContainText('Log of the light');
  await expect(card).toContainText('burns forty litres of colza oil a night');
  await page.mouse.move(0, 0);
  await expect(card).toBeHidden();

  await answer(page).locator('.chip-absent').focus();
  await expect(card).toContainText('it tells of a change of lamp and not of its colour');
  const [box, view] = [await place(card), page.viewportSize()];
  expect(view && box.x >= 0 && box.y >= 0 && box.x + box.width <= view.width && box.y + box.height <= view.height).toBe(true);
  await page.keyboard.press('Escape');
  await expect(card).toBeHidden();

  await page.keyboard.press('Enter');
  const panel = page.getByRole('complementary', { name: 'Source' });
  await expect(panel).toContainText('Source 2 of 2');
  await expect(panel.getByRole('link', { name: 'Open on the web' })).toHaveAttribute('href', 'https://lights.example/notices/12');
  await panel.getByRole('button', { name: 'Previous source' }).click();
  await expect(panel).toContainText('Source 1 of 2');

  // It stays while the answer does, and goes with it: another conversation has another Source 1.
  await page.getByRole('button', { name: 'New chat' }).click();
  await expect(page.getByRole('heading', { name: 'Ask about your documents' })).toBeVisible();
  await expect(panel).toHaveCount(0);
});

test('on a tablet a source takes room from the conversation and covers nothing of it', async ({ page }) => {
  await doubted(page);
  const chip = answer(page).locator('.chip-absent');
  const panel = page.getByRole('complementary', { name: 'Source' });
  for (const [width, height] of [[820, 1180], [1024, 768]] as const) {
    await page.setViewportSize({ width, height });
    await chip.click();
    await expect(panel).toBeVisible();
    const [pane, main] = [await place(panel), await place(page.locator('main'))];
    expect(main.x + main.width <= pane.x + 1 || main.y + main.height <= pane.y + 1).toBe(true);
    await expect(chip).toBeInViewport({ ratio: 1 });
    await page.keyboard.press('Escape');
    await expect(panel).toHaveCount(0);
  }
});

test('the cited passage is marked and in view in the whole document', async ({ page }) => {
  await page.goto('/');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await answer(page).locator('.chip').first().click();
  const panel = page.getByRole('complementary', { name: 'Source' });
  const quoted = (await panel.locator('blockquote').first().textContent()) ?? '';
  await panel.getByRole('button', { name: 'Read the whole document' }).click();
  await expect(panel.getByText('The passage is marked in the text.')).toBeVisible();
  const letters = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase();
  await expect.poll(async () => letters((await highlighted(page, 'passage'))[0] ?? '').length).toBeGreaterThan(40);
  const [marked = ''] = await highlighted(page, 'passage');
  expect(letters(quoted)).toContain(letters(marked));
  const seen = (): Promise<boolean> =>
    page.evaluate(() => {
      const range = [...(CSS.highlights.get('passage') ?? [])][0] as Range;
      const { top } = range.getBoundingClientRect();
      return top > 0 && top < innerHeight;
    });
  await expect.poll(seen).toBe(true);
  await page.keyboard.press('Escape');
  await expect.poll(() => highlighted(page, 'passage')).toEqual([]);
});

test('what a running tool writes is seen as it comes, and kept when it has ended', async ({ page }) => {
  const stage = await setStage(page, 'live');
  let outputs = 0;
  await page.goto('/');
  await ask(page, 'Count the lamps.');
  await stage.play((p) => p.obj.type === 'tool_progress' && ++outputs === 4);
  const card = page.locator('.card');
  const log = card.getByRole('log');
  await expect(card).toHaveAttribute('data-outcome', 'running');
  await expect(card).toContainText('4 of 12 lamps');
  await expect(log).toHaveText('lamp 1 is lit\nlamp 2 is lit\nlamp 3 is lit\nlamp 4 is lit');
  await expect(page.getByRole('button', { name: 'Stop the answer' })).toBeVisible();
  await stage.play((p) => p.obj.type === 'tool_progress' && ++outputs === 10);
  await expect(log).toHaveText(Array.from({ length: 6 }, (_, i) => `lamp ${i + 5} is lit`).join('\n'));
  await expect(card.getByRole('progressbar')).toHaveAttribute('value', /^0\.8/);
  await stage.play();
  await ended(page);
  await expect(log).toBeHidden();
  await card.getByRole('button').first().click();
  await expect(card.getByText(/lamp 1 is lit\nlamp 2 is lit[^]*lamp 12 is lit/)).toBeVisible();
  await expect(card.locator('.stderr')).toHaveText('warning: lamp 13 does not answer\n');
});

test('each way in which a call ends has its words', async ({ page }) => {
  const stage = await setStage(page, 'outcomes');
  await page.goto('/');
  await ask(page, 'Try everything.');
  await stage.play((p) => p.obj.type === 'approval_request');
  await expect(page.locator('.card').last()).toContainText('waits for you');
  await stage.play();
  await ended(page);
  const facts = page.locator('.card .facts > span:first-child');
  await expect(facts).toHaveText(['Denied', 'Timed out', 'Failed', 'Failed', '< 0.1 s', 'Denied']);
  const denied = page.locator('.card').first();
  await denied.getByRole('button').first().click();
  await expect(denied).toContainText('leads into the local network');
  await expect(denied).toContainText('http · denied');
});

test('an answer that ends elsewhere is marked in the list until it is looked at', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me while I am away.');
  await expect(answer(page)).toHaveAttribute('aria-busy', 'true');
  const row = page.getByRole('navigation', { name: 'Conversations' }).getByRole('link', { name: /^Tell me while I am away/ });
  await expect(row).toContainText('An answer is being written');
  await page.getByRole('button', { name: 'New chat' }).click();
  await poke(SLOW_WORDS);
  await expect(row).toContainText('New answer');
  await page.reload();
  await expect(row).toContainText('New answer');
  await row.click();
  await expect(row).not.toContainText('New answer');
  await expect(prose(answer(page))).toHaveText(slowText(SLOW_WORDS));
});

test('an earlier answer is given again as a version of it, and what followed stays with the first', async ({ page }) => {
  await page.goto('/');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await ask(page, 'How do I build a plugin in Go?');
  await ended(page, 2);
  await page.getByRole('button', { name: 'Answer again' }).first().click();
  await expect(page.getByText('2 of 2')).toBeVisible();
  await ended(page);
  await expect(page.getByRole('article', { name: 'Your question' })).toHaveCount(1);
  await page.getByRole('button', { name: 'Earlier version' }).click();
  await expect(page.getByRole('article', { name: 'Your question' })).toHaveCount(2);
  await expect(page.getByRole('article', { name: 'Your question' }).last()).toContainText('How do I build a plugin in Go?');
});

test('on paper there is the whole conversation and nothing to press', async ({ page }) => {
  await page.goto('/');
  await ask(page, 'How do I build a plugin in Go?');
  await ended(page);
  await ask(page, 'How do I declare a capability?');
  await ended(page, 2);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await expect(page.getByRole('complementary', { name: 'Sidebar' })).toBeHidden();
  await expect(page.getByRole('textbox', { name: 'Your question' })).toBeHidden();
  await expect(page.locator('.card')).toHaveCount(2);
  for (const button of await page.locator('main button:visible').all()) await expect(button).toHaveClass(/chip/);
  await expect(page.getByRole('list', { name: 'Sources' }).last()).toContainText('Write a plugin');
  const paper = await page.evaluate(() => {
    const first = document.querySelector('[data-question]')?.getBoundingClientRect();
    const last = [...document.querySelectorAll('.prose')].at(-1)?.getBoundingClientRect();
    const clipped = [...document.querySelectorAll('.prose')].some((e) => {
      for (let p = e.parentElement; p; p = p.parentElement) if (p.scrollHeight > p.clientHeight + 1 && getComputedStyle(p).overflowY !== 'visible' && p !== document.documentElement) return true;
      return false;
    });
    return { top: first?.top ?? -1, bottom: last?.bottom ?? 0, height: document.documentElement.scrollHeight, clipped, ground: getComputedStyle(document.body).backgroundColor };
  });
  expect(paper.clipped).toBe(false);
  expect(paper.top).toBeGreaterThanOrEqual(0);
  expect(paper.bottom).toBeLessThanOrEqual(paper.height);
  // Dark paper would be a waste of ink.
  expect(paper.ground).toMatch(/^(oklch\(0\.9|oklch\(1 |rgb\(2[45])/);
  expect((await page.pdf()).length).toBeGreaterThan(1000);
});
