import type { Page } from '@playwright/test';
import { SLOW_WORDS, poke, slowText } from './host';
import { answer, ask, ended, expect, pick, prose, test } from './page';

const more = (page: Page) => answer(page).getByRole('button', { name: 'Continue' });

test('a stopped answer goes on in the same message, through a reload and to its end', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me in two parts.');
  await poke(4);
  await expect(prose(answer(page))).toHaveText(slowText(4));
  await page.getByRole('button', { name: 'Stop the answer' }).click();
  await more(page).click();
  await expect(page.getByRole('button', { name: 'Stop the answer' })).toBeVisible();
  await poke(3);
  await expect(prose(answer(page))).toHaveText(`${slowText(4)} ${slowText(3)}`);
  await expect(page.getByText('You stopped this answer.')).toBeHidden();
  await page.reload();
  await expect(prose(answer(page))).toHaveText(`${slowText(4)} ${slowText(3)}`);
  await poke(SLOW_WORDS - 3);
  await ended(page);
  const whole = `${slowText(4)} ${slowText(SLOW_WORDS)}`;
  await expect(prose(answer(page))).toHaveText(whole);
  await expect(more(page)).toHaveCount(0);
  await page.reload();
  await ended(page);
  await expect(prose(answer(page))).toHaveText(whole);
  await expect(page.getByRole('article', { name: /^Answer/ })).toHaveCount(1);
  await expect(page.getByText('2 of 2')).toHaveCount(0);
});

test('what goes on can be stopped and goes on again', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me in three parts.');
  let words = '';
  for (const n of [3, 2]) {
    await poke(n);
    words = `${words} ${slowText(n)}`.trim();
    await expect(prose(answer(page))).toHaveText(words);
    await page.getByRole('button', { name: 'Stop the answer' }).click();
    await expect(page.getByText('You stopped this answer.')).toBeVisible();
    await more(page).click();
    await expect(page.getByRole('button', { name: 'Stop the answer' })).toBeVisible();
  }
  await poke(SLOW_WORDS);
  await ended(page);
  await expect(prose(answer(page))).toHaveText(`${words} ${slowText(SLOW_WORDS)}`);
});

test('an answer that reached the limit of words goes on in the middle of a word', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'cut');
  await ask(page, 'Tell me a long story.');
  await expect(answer(page)).toContainText('is cut off');
  await more(page).click();
  await expect(prose(answer(page))).toHaveText('A long story about the light.');
  await expect(answer(page)).not.toContainText('is cut off');
  await expect(more(page)).toHaveCount(0);
});

test('a call that was held back says so, and runs once when its answer is chosen', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'keeper', 'rich');
  await ask(page, 'Remember that the lamp burns colza oil.');
  await ended(page);
  await page.getByRole('tab', { name: 'rich' }).click();
  await ended(page);
  await expect(page.getByRole('region', { name: 'Calls that were held back' })).toHaveCount(0);
  await page.getByRole('tab', { name: 'keeper' }).click();
  const card = page.locator('.card').first();
  await expect(card).toContainText('runs when chosen');
  await card.getByRole('button').first().click();
  await expect(card).toContainText('It runs when this answer is chosen.');
  await expect(card).not.toContainText('What went wrong');
  const memories = async (): Promise<{ id: string; text: string }[]> => ((await (await page.request.get('/api/v1/memories')).json()) as { memories: { id: string; text: string }[] }).memories;
  expect(await memories()).toEqual([]);
  // To look at another version is not to choose it.
  await page.getByRole('button', { name: 'Answer again' }).click();
  await expect(page.getByText('2 of 2')).toBeVisible();
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('I said it already.');
  await page.getByRole('tab', { name: 'rich' }).click();
  await ended(page);
  await page.getByRole('button', { name: 'Earlier version' }).click();
  await expect(page.getByText('1 of 2')).toBeVisible();
  await expect(prose(answer(page)).last()).toContainText('It waits for you.');
  expect(await memories()).toEqual([]);

  await page.getByRole('button', { name: 'Choose this answer and run 1 call' }).click();
  await expect(prose(answer(page)).last()).toContainText('It is kept now.');
  await ended(page);
  await expect(page.getByRole('tab', { name: 'keeper' })).toHaveAttribute('aria-selected', 'true');
  await expect(page.locator('.card')).toHaveCount(2);
  await expect(page.locator('.card').first()).toContainText('held back at first');
  await expect(page.locator('.card').last()).toHaveAttribute('data-outcome', 'ok');
  await expect(page.getByRole('region', { name: 'Calls that were held back' })).toHaveCount(0);
  const kept = await memories();
  expect(kept.map((m) => m.text)).toEqual(['The lamp burns colza oil.']);

  await page.reload();
  await expect(page.getByRole('tab', { name: 'keeper' })).toHaveAttribute('aria-selected', 'true');
  await expect(prose(answer(page)).last()).toContainText('It is kept now.');
  for (const { id } of kept) await page.request.delete(`/api/v1/memories/${id}`);
});
