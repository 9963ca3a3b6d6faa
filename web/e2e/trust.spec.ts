import { answer, ask, ended, expect, pick, prose, test } from './page';

// That no foreign request went out is checked after every test, this one too.
test('a hostile answer loads nothing and runs nothing', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'hostile');
  await ask(page, 'Show me something foreign.');
  await ended(page);
  await expect(prose(answer(page))).toContainText('The end');
  await expect(answer(page).locator('img, script, style, iframe, [style], [onerror]')).toHaveCount(0);
  await expect(page).not.toHaveTitle(/broken/);
  for (const link of await answer(page).locator('a').all()) {
    await expect(link).toHaveAttribute('href', /^https:\/\/foreign\.invalid\//);
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
    await expect(link).toHaveAttribute('target', '_blank');
  }
  await expect(answer(page).getByRole('link', { name: 'Image: pixel' })).toBeVisible();
});


test('a model that is down gives a sentence and ways on', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'absent');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  const problem = answer(page).getByRole('alert');
  await expect(problem).toContainText('Nothing answers at');
  await expect(problem.getByRole('button', { name: 'Retry' })).toBeEnabled();
  await problem.getByRole('button', { name: 'Ask extractive instead' }).click();
  await expect(answer(page).locator('.chip').first()).toBeVisible();
  await expect(page.getByText('2 of 2')).toBeVisible();
  await expect(page.getByRole('article', { name: 'Your question' })).toHaveCount(1);
});

test('an address of a conversation that does not exist says so', async ({ page }) => {
  await page.goto('/#/chat/s_01ARZ3NDEKTSV4RRFFQ69G5FAV');
  await expect(page.getByRole('alert')).toContainText("This conversation can't be shown.");
});

test.describe('without a session', () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test('the page says how to get in', async ({ page }) => {
    await page.goto('/');
    await expect(page.getByText('You are not signed in.')).toBeVisible();
    await expect(page.getByText('bulkhead user link owner')).toBeVisible();
  });
});
