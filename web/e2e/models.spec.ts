import { searchUrl } from './host';
import { answer, ask, ended, expect, pick, prose, test } from './page';

test('a model is added from the page, tested, asked, chosen and removed, without a restart', async ({ page }) => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Add a model' }).click();
  await expect(page.getByRole('heading', { name: 'Models', level: 1 })).toBeVisible();
  await page.getByRole('button', { name: 'Add a model' }).click();
  const form = page.getByRole('form', { name: 'Add a model' });

  await form.getByLabel('Address of the server').fill(searchUrl().replace(/\d+\/v1$/, '1/v1'));
  await form.getByRole('button', { name: 'See what it offers' }).click();
  await expect(form.getByRole('alert')).toContainText('Is the server running');

  await form.getByLabel('Address of the server').fill(searchUrl());
  await form.getByLabel('Key').fill('sk-hidden');
  await form.getByRole('button', { name: 'See what it offers' }).click();
  await expect(form.getByLabel('Model as the server calls it')).toHaveValue('scripted');
  await form.getByRole('button', { name: 'Test first' }).click();
  await expect(form.getByText('It can be asked, with limits.')).toBeVisible();
  await expect(form.getByText('It did not call the tool.')).toBeVisible();

  await form.getByLabel('Name that people pick').fill('search');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(form.getByRole('alert')).toContainText('There is a model of that name already');
  await expect(form.getByLabel('Name that people pick')).toBeFocused();
  await form.getByLabel('Name that people pick').fill('harbour');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page.getByText('harbour is added.')).toBeVisible();
  const row = page.getByRole('listitem').filter({ hasText: 'harbour' });
  await expect(row).toContainText('with a key · added here');
  expect(await page.content()).not.toContain('sk-hidden');

  await page.goto('/#/chat/');
  await pick(page, 'harbour');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  await expect(prose(answer(page)).last()).toContainText('It stands in');

  await page.goto('/#/models');
  await row.getByRole('button', { name: 'Make default harbour' }).click();
  await expect(row).toContainText('default');
  const builtin = page.getByRole('listitem').filter({ hasText: 'extractive' });
  await builtin.getByRole('button', { name: 'Make default extractive' }).click();
  await expect(builtin).toContainText('default');
  await row.getByRole('button', { name: 'Remove harbour' }).click();
  await row.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(row).toHaveCount(0);
});

test('a model of another kind is added with its settings, and a wrong one is shown where it stands', async ({ page }) => {
  await page.goto('/#/models');
  await page.getByRole('button', { name: 'Add a model' }).click();
  const form = page.getByRole('form', { name: 'Add a model' });
  await form.getByLabel('Kind of server').selectOption('Ollama');
  // Its usual address is known.
  await form.getByLabel('Model as the server calls it').fill('qwen3:8b');
  await form.getByLabel('Name that people pick').fill('local qwen');
  await form.getByText('Advanced', { exact: true }).click();
  await form.getByLabel('Thinks before it answers').selectOption('No');
  await form.getByLabel('Kept in memory').fill('a while');
  await form.getByText('Advanced', { exact: true }).click();
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(form.getByRole('alert')).toContainText('must look like 30m');
  await expect(form.getByLabel('Kept in memory')).toBeFocused();
  await form.getByLabel('Kept in memory').fill('30m');
  const asked = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/api/v1/models'));
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  expect((await asked).postDataJSON()).toMatchObject({ provider: 'ollama', model: 'qwen3:8b', reasoning: 'no', keep_alive: '30m' });
  const row = page.getByRole('listitem').filter({ hasText: 'local qwen' });
  await expect(row).toBeVisible();

  await page.getByRole('button', { name: 'Add a model' }).click();
  await form.getByText('Advanced', { exact: true }).click();
  await expect(form.getByLabel('Let it search the web at its provider')).toHaveCount(0);
  await form.getByLabel('Asked through').selectOption('Responses, of OpenAI itself');
  await expect(form.getByLabel('Let it search the web at its provider')).toBeVisible();
  await form.getByLabel('Kind of server').selectOption('Anthropic');
  await expect(form.getByLabel('Let it search the web at its provider')).toBeVisible();
  await form.getByRole('button', { name: 'Cancel' }).click();
  await row.getByRole('button', { name: 'Remove local qwen' }).click();
  await row.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(row).toHaveCount(0);
});

test('the test of a model that is down says so in words', async ({ page }) => {
  await page.goto('/#/models');
  const row = page.getByRole('listitem').filter({ hasText: 'absent' });
  await row.getByRole('button', { name: 'Test absent' }).click();
  await expect(row).toContainText("This model can't be asked yet.");
  await expect(row).toContainText('Nothing answers at 127.0.0.1:');
});
