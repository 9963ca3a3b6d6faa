/**
 * Every screen in both themes and three widths: nothing overflows or overlaps,
 * a finger finds its targets, text has contrast, and axe has nothing to say.
 * With BULKHEAD_SHOTS=FOLDER each is also kept as a picture to look at.
 */
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { join } from 'node:path';
import { CONTRAST, layoutFaults, lowestContrast } from './layout';
import { expect, test } from './page';
import { CHAT } from './screens/chat';
import { PLACES } from './screens/places';
import type { Screen } from './screens/screen';

const WIDTHS = { phone: { width: 390, height: 844 }, tablet: { width: 820, height: 1180 }, desktop: { width: 1366, height: 768 } };
const SHOTS = process.env['BULKHEAD_SHOTS'];

async function look(page: Page, screen: Screen, theme: 'light' | 'dark', width: keyof typeof WIDTHS): Promise<string[]> {
  await page.setViewportSize(WIDTHS[width]);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  // Two frames: one in which the observers see the size, one drawn after them.
  await page.evaluate(() => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
  await screen.again?.(page);
  if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${screen.name.replace(/\W+/g, '-')}.${width}.${theme}.png`) });
  const faults = await layoutFaults(page, width === 'phone');
  const lowest = await lowestContrast(page);
  if (lowest.ratio < CONTRAST) faults.push(`"${lowest.text}" has a contrast of ${lowest.ratio.toFixed(2)}`);
  if (width === (theme === 'light' ? 'phone' : screen.onlyNarrow ? 'tablet' : 'desktop')) {
    // Each theme once, and each structure once: a theme changes colours and nothing else. There are no frames, so axe needs no page of its own to gather what it found.
    const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
    const { violations } = await axe.analyze();
    for (const v of violations) faults.push(`axe, ${v.id}: ${v.help} (${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join('; ')})`);
  }
  return faults.map((f) => `${theme}, ${width}: ${f}`);
}

// The faults say all that there is to say; a trace of each step would triple the time.
test.use({ trace: 'off' });

for (const screen of [...CHAT, ...PLACES]) {
  test.describe('', () => {
    // Where the sidebar lies over the conversation the way to a screen is another.
    test.use({ viewport: screen.onlyNarrow ? WIDTHS.phone : WIDTHS.desktop, ...(screen.signedOut ? { storageState: { cookies: [], origins: [] } } : {}) });

    test(`the screen "${screen.name}" is whole in both themes and at every width`, async ({ page, line }) => {
      await screen.go(page, line);
      const faults: string[] = [];
      const widths = (Object.keys(WIDTHS) as (keyof typeof WIDTHS)[]).filter((w) => !screen.onlyNarrow || w !== 'desktop');
      for (const width of widths) {
        for (const theme of ['light', 'dark'] as const) faults.push(...(await look(page, screen, theme, width)));
      }
      await page.setViewportSize(WIDTHS.desktop);
      await screen.leave?.(page, line);
      expect(faults).toEqual([]);
    });
  });
}
