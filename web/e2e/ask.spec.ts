import { readFileSync } from 'node:fs';
import { answer, ask, composer, ended, expect, pick, place, prose, test } from './page';

test('a question is answered from documents, with the tool call and each source open to view', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByText('The built-in model quotes your documents')).toBeVisible();
  await page.getByRole('button', { name: 'How do I declare a capability?', exact: true }).click();
  await composer(page).press('Enter');
  await ended(page);

  const card = page.locator('.card').first();
  await expect(card).toHaveAttribute('data-outcome', 'ok');
  await expect(card).toContainText(/\d+ documents?/);
  await card.getByRole('button').first().click();
  await expect(card.getByRole('heading', { name: 'Arguments' })).toBeVisible();
  await expect(card).toContainText('queries');
  await expect(card.getByRole('heading', { name: 'What it asked of the host' })).toBeVisible();
  await expect(card).toContainText('allowed');

  const chip = answer(page).locator('.chip').first();
  await expect(chip).toHaveText('1');
  await chip.click();
  const panel = page.getByRole('complementary', { name: 'Source' });
  await expect(panel.locator('blockquote')).not.toBeEmpty();
  await panel.getByRole('button', { name: 'Read the whole document' }).click();
  await expect(panel.getByLabel("The document's text")).toContainText('capabilit');
  await page.keyboard.press('Escape');
  await expect(panel).toBeHidden();
  await expect(chip).toBeFocused();

  const arrives = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download the conversation' }).click();
  const file = await arrives;
  expect(file.suggestedFilename()).toBe('How-do-I-declare-a-capability.md');
  const text = readFileSync(await file.path(), 'utf8');
  expect(text).toContain('> How do I declare a capability?');
  expect(text).toMatch(/^\[1\] \S/m);
  expect(text).not.toContain('[[');
});

test('reasoning is folded and can be opened, and the narration stays above its call', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'search');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  const fold = answer(page).getByRole('button', { name: /^Thought for \d+ s$/ });
  await expect(page.getByText('I should look that up.')).toBeHidden();
  await fold.click();
  await expect(page.getByText('I should look that up.')).toBeVisible();
  await expect(prose(answer(page)).first()).toHaveText('I look that up.');
  await expect(prose(answer(page)).last()).toContainText('It stands in');
  await expect(prose(answer(page)).last().locator('.chip')).toHaveCount(1);
});

test('two models answer side by side as tabs', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'search', 'extractive');
  await ask(page, 'How do I declare a capability?');
  const tabs = page.getByRole('tablist', { name: 'Answers of several models' });
  await expect(tabs.getByRole('tab')).toHaveText(['search', 'extractive']);
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('It stands in');
  await tabs.getByRole('tab', { name: 'extractive' }).click();
  await ended(page);
  await expect(prose(answer(page)).last()).not.toContainText('It stands in');
  await page.reload();
  await expect(tabs.getByRole('tab')).toHaveText(['search', 'extractive']);

  // Where there is room both can be read at once, and the one that goes on is ticked.
  await page.getByRole('button', { name: 'Side by side' }).click();
  const both = page.getByRole('region', { name: 'Answers side by side' });
  await expect(both.getByRole('article')).toHaveCount(2);
  const [left, right] = [await place(both.getByRole('article').first()), await place(both.getByRole('article').last())];
  expect(left.x + left.width <= right.x && left.width > 350).toBe(true);
  await both.getByRole('button', { name: 'extractive', exact: true }).click();
  await ask(page, 'How do I build a plugin in Go?');
  await expect(page.getByRole('article', { name: /^Answer/ }).nth(2)).toHaveAttribute('aria-busy', 'false');
  await page.reload();
  await expect(both.first().getByRole('button', { name: 'extractive', exact: true })).toHaveAttribute('aria-pressed', 'true');
});

test('a conversation is listed, found, renamed, pinned and deleted', async ({ page }) => {
  await page.goto('/');
  await ask(page, 'What is an albatross doing here?');
  await ended(page);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('searchbox')).toBeFocused();
  await page.keyboard.type('albatross');
  await expect(list.getByRole('link')).toHaveCount(1);
  await page.getByRole('button', { name: /^Rename, pin or delete/ }).click();
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('textbox', { name: 'Name of the conversation' }).fill('Seabirds');
  await page.keyboard.press('Enter');
  await page.getByRole('searchbox').fill('seabirds');
  await expect(list.getByRole('link', { name: 'Seabirds' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Seabirds' })).toBeVisible();
  await page.getByRole('button', { name: /^Rename, pin or delete/ }).click();
  await page.getByRole('button', { name: 'Pin', exact: true }).click();
  await expect(list.getByRole('list', { name: 'Pinned' }).getByRole('link', { name: 'Seabirds' })).toBeFocused();
  await page.getByRole('button', { name: /^Rename, pin or delete/ }).click();
  await page.getByRole('button', { name: 'Unpin', exact: true }).click();
  await expect(list.getByRole('list', { name: 'Today' }).getByRole('link', { name: 'Seabirds' })).toBeFocused();
  await page.getByRole('button', { name: /^Rename, pin or delete/ }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  // As long as it is pointed at it does not go.
  await page.getByRole('button', { name: 'Undo' }).hover();
  await expect(list.getByRole('link')).toHaveCount(0);
  await expect(page.getByRole('heading', { name: 'Ask about your documents' })).toBeVisible();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(list.getByRole('link', { name: 'Seabirds' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Seabirds' })).toBeVisible();
  await page.getByRole('button', { name: /^Rename, pin or delete/ }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  // A page that goes makes final what was not taken back.
  await page.goto('about:blank');
  await expect.poll(async () => (await page.request.get('/api/v1/sessions')).text()).not.toContain('Seabirds');
  await page.goto('/');
  await page.getByRole('searchbox').fill('seabirds');
  await expect(list.getByText('No conversation has these words in its name.')).toBeVisible();
});

test('a changed question becomes another version, and both stay', async ({ page }) => {
  await page.goto('/');
  await ask(page, 'How do I build a plugin in Go?');
  await ended(page);
  await page.getByRole('article', { name: 'Your question' }).hover();
  await page.getByRole('button', { name: 'Change the question' }).click();
  await page.getByRole('textbox', { name: 'Change the question' }).fill('How do I declare a capability?');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('article', { name: 'Your question' })).toContainText('How do I declare a capability?');
  await ended(page);
  await expect(page.getByText('2 of 2')).toBeVisible();
  await page.getByRole('button', { name: 'Earlier version' }).click();
  await expect(page.getByRole('article', { name: 'Your question' })).toContainText('How do I build a plugin in Go?');
});
