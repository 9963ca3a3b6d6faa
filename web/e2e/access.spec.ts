import AxeBuilder from '@axe-core/playwright';
import { SCREENS, expect, test } from './screens';

for (const colorScheme of ['light', 'dark'] as const) {
  for (const screen of SCREENS) {
    test.describe(`in ${colorScheme}`, () => {
      test.use(screen.signedOut ? { colorScheme, storageState: { cookies: [], origins: [] } } : { colorScheme });

      test(`axe finds nothing on the screen "${screen.name}"`, async ({ page }) => {
        await screen.go(page);
        const found = await new AxeBuilder({ page }).analyze();
        const words = found.violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join('; ')})`);
        expect(words).toEqual([]);
        await screen.leave?.(page);
      });
    });
  }
}
