import type { Page } from '@playwright/test';
import { answer, ask, composer, ended, expect, test } from './page';

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
    expect((await panel.boundingBox())?.width).toBe(390);
    await panel.getByRole('button', { name: 'Close the source' }).tap();
    await page.getByRole('button', { name: 'Show the sidebar' }).tap();
    await expect(page.getByRole('button', { name: 'New chat' })).toBeInViewport();
    await fits(page);
    for (const name of ['New chat', 'Fold the sidebar', 'Sign out']) {
      const box = await page.getByRole('button', { name }).boundingBox();
      expect(box?.height, name).toBeGreaterThanOrEqual(44);
    }
    await page.getByRole('button', { name: 'New chat' }).tap();
    await expect(page.getByRole('button', { name: 'New chat' })).not.toBeInViewport();
    await expect(composer(page)).toBeInViewport();
  });
});

/** The smallest contrast of text that is seen against what lies behind it. */
function lowestContrast(page: Page): Promise<{ ratio: number; text: string }> {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    if (!canvas) throw new Error('no canvas');
    const context = canvas;
    const flatten = (colours: string[]): number => {
      context.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
      }
      const channel = (v: number): number => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const [r = 0, g = 0, b = 0] = Array.from(context.getImageData(0, 0, 1, 1).data, (v) => channel(v / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element: Element | null): string[] => {
      const stack: string[] = [];
      for (let e = element; e; e = e.parentElement) stack.unshift(getComputedStyle(e).backgroundColor);
      return stack;
    };
    let lowest = { ratio: 21, text: '' };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent?.trim() ?? '';
      if (!element || text === '' || !element.checkVisibility({ visibilityProperty: true }) || element.closest('.visually-hidden, :disabled')) continue;
      const ground = behind(element);
      const a = flatten([...ground, getComputedStyle(element).color]);
      const b = flatten(ground);
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < lowest.ratio) lowest = { ratio, text };
    }
    return lowest;
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in ${colorScheme}`, () => {
    test.use({ colorScheme });

    test('all text has a contrast of at least 4.5', async ({ page }) => {
      await page.goto('/');
      await ask(page, 'How do I declare a capability?');
      await ended(page);
      await page.locator('.card button').first().click();
      await answer(page).locator('.chip').first().click();
      const lowest = await lowestContrast(page);
      expect(lowest.ratio, `"${lowest.text}"`).toBeGreaterThanOrEqual(4.5);
    });
  });
}

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
