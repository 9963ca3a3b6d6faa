import type { Page } from '@playwright/test';
import { TUTOR, addAgents, removeAgents } from './agents';
import { answer, ask, composer, ended, expect, prose, test } from './page';

test.afterEach(async ({ page }) => removeAgents(page));

const trigger = (page: Page) => page.getByRole('button', { name: /^Agent:/ });
const rows = (page: Page) => page.locator('.agents li');

/** What the page sends on its socket as sends, from now on. */
function sends(page: Page): Record<string, unknown>[] {
  const all: Record<string, unknown>[] = [];
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const frame = JSON.parse(String(payload)) as Record<string, unknown>;
      if (frame['type'] === 'send') all.push(frame);
    }),
  );
  return all;
}

test('an operator sets an agent up, asks it, changes it, deletes it and takes that back', async ({ page }) => {
  const sent = sends(page);
  await page.goto('/');
  await trigger(page).click();
  await page.getByRole('link', { name: 'Set up an agent' }).click();
  await expect(page.getByText('There are no agents yet.')).toBeVisible();
  await page.getByRole('button', { name: 'Set up an agent' }).click();
  const form = page.getByRole('form', { name: 'Set up an agent' });
  await form.getByLabel('Name').fill('Tutor');
  await form.getByLabel('Instructions').fill('Ask back before you answer.');
  await form.getByLabel('Only these').check();
  await form.getByLabel('Search documents').check();
  await form.getByLabel('Model unless').selectOption('search');
  await form.getByLabel('Most cycles').fill('0');
  await form.getByRole('button', { name: 'Set up' }).click();
  await expect(form.getByText('Write a whole number from 1 to 50')).toBeVisible();
  await expect(form.getByLabel('Most cycles')).toBeFocused();
  await form.getByLabel('Most cycles').fill('4');

  // What is written outlives a look at another place, and the button that drops it.
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await expect(form.getByLabel('Instructions')).toHaveValue('Ask back before you answer.');
  await form.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(form.getByLabel('Most cycles')).toHaveValue('4');
  await form.getByRole('button', { name: 'Set up' }).click();
  await expect(page.getByText('Tutor is set up.')).toBeVisible();
  await expect(rows(page)).toContainText('Search documents · search · at most 4 cycles');

  await page.getByRole('button', { name: 'Ask Tutor' }).click();
  await expect(composer(page)).toHaveAttribute('placeholder', 'Ask Tutor');
  await expect(page.getByRole('button', { name: 'Model: search' })).toBeVisible();
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('It stands in');
  await expect(answer(page).locator('footer')).toContainText('Tutor · search');
  await expect(page.getByRole('article', { name: 'Your question' })).toContainText('to Tutor');
  expect(sent.at(-1)).not.toHaveProperty('models');
  expect(sent.at(-1)).not.toHaveProperty('tools');

  // The conversation stays with it; a new one begins without.
  await page.reload();
  await expect(trigger(page)).toHaveAccessibleName('Agent: Tutor');
  await page.getByRole('button', { name: 'New chat' }).click();
  await expect(trigger(page)).toHaveAccessibleName('Agent: Default');
  await page.goBack();

  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByRole('button', { name: 'Change Tutor' }).click();
  const change = page.getByRole('form', { name: 'Change Tutor' });
  await change.getByLabel('Name').fill('Teacher');
  const asked = page.waitForRequest((r) => r.method() === 'PATCH');
  await change.getByRole('button', { name: 'Save' }).click();
  expect((await asked).postDataJSON()).toEqual({ name: 'Teacher' });
  await page.getByRole('button', { name: 'Delete Teacher' }).click();
  await expect(rows(page)).toHaveCount(0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(rows(page)).toContainText('Teacher');
});

test('a conversation says that its agent was removed, and goes on without', async ({ page }) => {
  await addAgents(page, TUTOR);
  await page.goto('/');
  await trigger(page).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('t');
  await page.keyboard.press('Enter');
  await expect(trigger(page)).toBeFocused();
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await removeAgents(page);
  await expect(page.getByText('The agent that was asked here was removed.')).toBeVisible();
  await expect(answer(page).locator('footer')).toContainText('an agent that was removed');
  await page.getByRole('button', { name: 'Answer again' }).click();
  await expect(page.getByText('2 of 2')).toBeVisible();
  await ended(page);
  await expect(page.getByText('The agent of this answer was removed')).toBeVisible();
});

test('tools that are switched off are left out, in this conversation, and one can be asked for first', async ({ page }) => {
  const sent = sends(page);
  await page.goto('/');
  const menu = page.getByRole('group', { name: 'Tools', exact: true });
  await page.getByRole('button', { name: /^Tools:/ }).click();
  await menu.getByRole('switch', { name: /^Search documents/ }).uncheck();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Model:/ }).click();
  await page.getByRole('group', { name: 'Model', exact: true }).getByRole('button', { name: /^search/ }).click();
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await expect(prose(answer(page)).last()).toHaveText('I found nothing.');
  expect(sent.at(-1)?.['tools']).toContain('open_url/open_url');
  expect(sent.at(-1)?.['tools']).not.toContain('search/internal_search');

  await page.reload();
  await page.getByRole('button', { name: /^Tools: \d+ of/ }).click();
  await expect(menu.getByRole('switch', { name: /^Search documents/ })).not.toBeChecked();
  // To use it first is to switch it on.
  await menu.getByRole('button', { name: 'Use Search documents first' }).click();
  await page.keyboard.press('Escape');
  await ask(page, 'How do I declare a capability?');
  await ended(page, 2);
  await expect(prose(answer(page)).last()).toContainText('It stands in');
  expect(sent.at(-1)).toMatchObject({ forced_tool: 'search/internal_search' });
  expect(sent.at(-1)).not.toHaveProperty('tools');
  await expect(page.getByRole('button', { name: 'Tools: all on' })).toBeVisible();

  // What is not there by itself is named, with all the others.
  await page.getByRole('button', { name: /^Tools:/ }).click();
  await menu.getByRole('switch', { name: /^Research/ }).check();
  await page.keyboard.press('Escape');
  await ask(page, 'How do I declare a capability?');
  await ended(page, 3);
  for (const id of ['host/research_agent', 'search/internal_search', 'open_url/open_url']) expect(sent.at(-1)?.['tools']).toContain(id);
  await expect(answer(page).getByText('not available')).toHaveCount(0);
});
