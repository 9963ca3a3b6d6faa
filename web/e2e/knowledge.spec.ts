import { holdTools } from './plugins';
import { answer, ask, ended, expect, test } from './page';

test('a document is added, asked about, and removed', async ({ page }) => {
  await page.goto('/#/knowledge');
  await expect(page.getByRole('heading', { name: /^\d+ documents$/ })).toBeVisible();
  const text = '# Lamp oil\n\nThe lighthouse at Skerryvore burns colza oil, forty litres a night.\n';
  await page.getByLabel('Documents to add').setInputFiles([
    { name: 'lamp-oil.md', mimeType: 'text/markdown', buffer: Buffer.from(text) },
    { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]) },
  ]);
  const uploads = page.locator('.uploads');
  await expect(uploads.locator('li', { hasText: 'lamp-oil.md' })).toContainText('Added');
  await expect(uploads.locator('li', { hasText: 'picture.png' })).toContainText('Not added.');

  await page.goto('/#/');
  await ask(page, 'What does the lighthouse at Skerryvore burn?');
  await ended(page);
  await expect(answer(page)).toContainText('colza oil');
  await expect(answer(page).locator('.chip').first()).toHaveAttribute('aria-label', /Lamp oil/);

  await page.goto('/#/knowledge');
  await page.getByRole('button', { name: 'Remove "Lamp oil"' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.locator('.documents')).not.toContainText('Lamp oil');
});

test('the tools are listed with what they touch', async ({ page }) => {
  await page.goto('/#/tools');
  await expect(page.getByRole('listitem').filter({ hasText: 'internal_search' })).toContainText('reads your data');
});

test('tools that wait are shown beside what they were, and offered once they were looked at', async ({ page }) => {
  const accepted = await holdTools(page);
  await page.goto('/');
  await page.getByRole('link', { name: 'Tools Some wait until you have looked at them' }).click();
  const waiting = page.getByRole('region', { name: 'Tools of search that wait' });
  await expect(waiting).toContainText('changed: description, arguments');
  await expect(waiting.getByRole('deletion')).toHaveText('Tells high water for a place.');
  await waiting.getByRole('button', { name: 'Offer them' }).click();
  await expect(page.getByRole('alert')).toContainText('They changed once more.');
  await waiting.getByRole('button', { name: 'Offer them' }).click();
  await expect(waiting).toHaveCount(0);
  expect(accepted).toEqual(['d1', 'd1']);
});
