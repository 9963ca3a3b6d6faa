import type { Page } from '@playwright/test';
import { answer, ask, composer, ended, expect, place, test } from './page';

/** Asserts that nothing is wider than the screen. */
async function fits(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });

  test('one pane at a time, everything in reach of a thumb', async ({ page }) => {
    await page.goto('/');
    await ask(page, 'How do I declare a capability?');
    await ended(page);
    await fits(page);
    await answer(page).locator('.chip').first().tap();
    const panel = page.getByRole('complementary', { name: 'Source' });
    expect((await place(panel)).width).toBe(390);
    await panel.getByRole('button', { name: 'Close the source' }).tap();
    await page.getByRole('button', { name: 'Show the sidebar' }).tap();
    await expect(page.getByRole('button', { name: 'New chat' })).toBeInViewport();
    await fits(page);
    for (const name of ['New chat', 'Fold the sidebar', 'Sign out']) {
      expect((await place(page.getByRole('button', { name }))).height, name).toBeGreaterThanOrEqual(44);
    }
    await page.getByRole('button', { name: 'New chat' }).tap();
    await expect(page.getByRole('button', { name: 'New chat' })).not.toBeInViewport();
    await expect(composer(page)).toBeInViewport();
  });
});

test('the theme can be chosen, and the choice stays', async ({ page }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Theme: as the system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.reload();
  await expect(page.getByRole('button', { name: 'Theme: dark' })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});

test('the keyboard reaches the question from anywhere', async ({ page }) => {
  await page.goto('/#/chat/');
  await page.getByRole('button', { name: 'New chat' }).focus();
  await page.keyboard.press('/');
  await expect(composer(page)).toBeFocused();
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two');
  await expect(composer(page)).toHaveValue('one\ntwo');
});

test('the key that finds a conversation leaves a wide page as it is', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('button', { name: 'Model: extractive' })).toBeVisible();
  await expect(page.getByText('The built-in model quotes your documents')).toBeVisible();
  const before = await place(composer(page));
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('searchbox')).toBeFocused();
  expect(await place(composer(page))).toEqual(before);
});
