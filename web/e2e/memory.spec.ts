import type { Page } from '@playwright/test';
import { answer, ask, ended, expect, prose, test } from './page';

const rows = (page: Page) => page.locator('.memories li');

test('what a person asks to remember is kept, used, changed, deleted and brought back', async ({ page }) => {
  await page.goto('/#/memory');
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();

  await page.goto('/#/');
  await ask(page, 'Remember that my favourite tea is Assam.');
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('I will remember: my favourite tea is Assam.');
  const card = page.locator('.card').first();
  await expect(card).toHaveAttribute('data-outcome', 'ok');
  await card.getByRole('button').first().click();
  await expect(card).toContainText('add: my favourite tea is Assam.');

  await page.getByRole('button', { name: 'New chat' }).click();
  await ask(page, 'What is my favourite tea?');
  await ended(page);
  await expect(prose(answer(page)).last()).toHaveText('You told me: my favourite tea is Assam.');

  await page.getByRole('link', { name: 'Memory' }).click();
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText('written by memory');
  await page.getByRole('button', { name: /^Change "my favourite tea/ }).click();
  await page.getByRole('textbox', { name: 'Change the memory' }).fill('My favourite tea is Ceylon.');
  await page.keyboard.press('Enter');
  await expect(rows(page)).toContainText('My favourite tea is Ceylon.');
  await expect(rows(page)).not.toContainText('written by');

  await page.getByRole('textbox', { name: 'Something to remember' }).fill('I read French.');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: '2 memories' })).toBeVisible();
  await page.getByRole('button', { name: 'Delete "My favourite tea is Ceylon."' }).click();
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(rows(page)).toHaveCount(2);
  await page.reload();
  await expect(rows(page)).toHaveCount(2);
  for (const name of ['My favourite tea is Ceylon.', 'I read French.']) await page.getByRole('button', { name: `Delete "${name}"` }).click();
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
  await page.reload();
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0);
});

test('a memory that another tab writes is seen at once', async ({ page, context }) => {
  await page.goto('/#/memory');
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByRole('textbox', { name: 'Something to remember' }).fill('I am left-handed.');
  await other.keyboard.press('Enter');
  await expect(rows(page)).toContainText('I am left-handed.');
  await page.getByRole('button', { name: 'Delete "I am left-handed."' }).click();
  await expect(other.getByText('Nothing is remembered yet.')).toBeVisible();
});

test('a private conversation uses no memory and writes none', async ({ page }) => {
  await page.goto('/#/memory');
  await page.getByRole('textbox', { name: 'Something to remember' }).fill('My favourite cheese is Comté.');
  await page.keyboard.press('Enter');
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByRole('button', { name: 'Private conversation' }).click();
  await ask(page, 'What is my favourite cheese?');
  await ended(page);
  await expect(answer(page)).not.toContainText('Comté');
  await expect(page.getByText('Private', { exact: true })).toBeVisible();
  await ask(page, 'Remember that I sail.');
  await ended(page, 2);
  await expect(answer(page)).not.toContainText('I will remember');
  await page.reload();
  await expect(page.getByText('Private', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'New chat' }).click();
  await expect(page.getByRole('button', { name: 'Private conversation' })).toHaveAttribute('aria-pressed', 'false');
  await page.getByRole('link', { name: 'Memory' }).click();
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole('button', { name: 'Delete "My favourite cheese is Comté."' }).click();
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
});
