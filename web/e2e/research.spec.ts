import type { Locator, Page } from '@playwright/test';
import { poke } from './host';
import { answer, ask, ended, expect, pick, prose, test } from './page';

const QUESTION = 'How do I declare a capability?';

/** A new conversation whose model may hand tasks to agents. */
async function begin(page: Page): Promise<void> {
  await page.goto('/');
  await pick(page, 'research');
  await page.getByRole('button', { name: /^Tools:/ }).click();
  await page.getByRole('group', { name: 'Tools', exact: true }).getByRole('switch', { name: /^Research/ }).check();
  await page.keyboard.press('Escape');
}

/** The cards of agents. */
const agents = (page: Page): Locator => answer(page).locator('.card').filter({ has: page.getByText('Research', { exact: true }) });

/** What an agent does while its card is closed. */
const trail = (page: Page): Locator => answer(page).getByRole('list', { name: 'What Research is doing' });

/** What an agent found out: it stands first in its open card, before what it did. */
const report = (card: Locator): Locator => card.locator('.report').first();

test('an agent works inside its card, and the answer cites what it found', async ({ page }) => {
  await begin(page);
  await ask(page, QUESTION);
  await poke(1, 'research');
  const card = agents(page);
  await expect(card).toHaveAttribute('data-outcome', 'running');
  await expect(trail(page)).toContainText('Search documents');
  await expect(trail(page)).toContainText(QUESTION);
  await expect(trail(page)).toContainText('Writing');
  await poke(1, 'research');
  await ended(page);
  await expect(card).toHaveAttribute('data-outcome', 'ok');
  await expect(trail(page)).toHaveCount(0);

  // The card holds the report with its source, and the steps that led to it.
  await card.getByRole('button').first().click();
  await expect(report(card)).toContainText('The guide is');
  await expect(report(card).locator('.chip')).toHaveCount(1);
  const steps = card.locator('.inside');
  await expect(steps.getByRole('button', { name: /^Thought for/ })).toHaveCount(1);
  await expect(steps.getByText('I look that up.')).toBeVisible();
  const search = steps.locator('.card');
  await expect(search).toHaveAttribute('data-outcome', 'ok');
  await search.getByRole('button').first().click();
  await expect(search).toContainText('queries');

  // The answer's own source is the one that the agent found.
  const last = prose(answer(page)).last();
  await expect(last).toContainText('That is all.');
  const chip = last.locator('.chip');
  await expect(chip).toHaveText('1');
  await chip.click();
  const panel = page.getByRole('complementary', { name: 'Source' });
  await expect(panel.locator('blockquote')).not.toBeEmpty();
  await page.keyboard.press('Escape');

  // The same is there after a reload, from what is stored.
  const text = await last.innerText();
  await page.reload();
  await ended(page);
  await expect(prose(answer(page)).last()).toHaveText(text.trim());
  await agents(page).getByRole('button').first().click();
  await expect(report(agents(page))).toContainText('The guide is');
  await expect(agents(page).locator('.inside .card')).toHaveAttribute('data-outcome', 'ok');
});

test('a reload in the middle of an agent shows where it is, and what follows', async ({ page }) => {
  await begin(page);
  await ask(page, QUESTION);
  await poke(1, 'research');
  await expect(trail(page)).toContainText('Writing');
  await page.reload();
  await expect(trail(page)).toContainText('Search documents');
  await expect(trail(page)).toContainText('Writing');
  const card = agents(page);
  await expect(card).toHaveAttribute('data-outcome', 'running');
  await card.getByRole('button').first().click();
  await expect(card.getByText('The guide', { exact: true })).toBeVisible();
  await poke(1, 'research');
  await ended(page);
  await expect(report(card)).toContainText(/The guide is .+\./);
  await expect(card.locator('.inside .card')).toHaveCount(1);
  await expect(agents(page)).toHaveCount(1);
  await expect(prose(answer(page)).last()).toContainText('That is all.');
});

test('stopping ends an agent with what it has, and the conversation goes on', async ({ page }) => {
  await begin(page);
  await ask(page, QUESTION);
  await poke(1, 'research');
  await expect(trail(page)).toContainText('Writing');
  await page.getByRole('button', { name: 'Stop the answer' }).click();
  await expect(page.getByText('You stopped this answer.')).toBeVisible();
  for (const again of [false, true]) {
    if (again) await page.reload();
    await expect(agents(page)).toHaveAttribute('data-outcome', 'cancelled');
    await agents(page).getByRole('button').first().click();
    await expect(agents(page).getByText('The guide', { exact: true })).toBeVisible();
    await expect(agents(page).locator('.inside .card')).toHaveAttribute('data-outcome', 'ok');
  }
  await ask(page, QUESTION);
  await poke(2, 'research');
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('That is all.');
});

test('two agents work at once, each in a card of its own', async ({ page }) => {
  await begin(page);
  await ask(page, `${QUESTION} How do I build a plugin in Go?`);
  await poke(4, 'research');
  await ended(page);
  const last = prose(answer(page)).last();
  await expect(last).toContainText('That is all.');
  await expect(last).toContainText(/An agent found .+An agent found /);
  const tabs = answer(page).getByRole('tab');
  await expect(tabs).toHaveCount(2);
  for (const tab of await tabs.all()) {
    await tab.click();
    await expect(answer(page).locator('.report').first()).toContainText('The guide is');
    await expect(answer(page).locator('.inside .card')).toHaveCount(1);
  }
});
