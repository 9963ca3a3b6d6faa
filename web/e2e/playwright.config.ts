import { defineConfig } from '@playwright/test';
import { chromiumArgs, findChromium } from '../scripts/chromium.mjs';
import { STATE_FILE } from './host';

const executablePath = findChromium();
if (executablePath === '') throw new Error('The browser tests need Chromium: run node scripts/chromium.mjs.');

export default defineConfig({
  testDir: '.',
  outputDir: '.results/artifacts',
  globalSetup: './global-setup.ts',
  // All tests share one host and one model server.
  workers: 1,
  forbidOnly: true,
  // Bounds against hanging, more than any machine needs: what they cost is paid by a test that fails.
  timeout: 240_000,
  expect: { timeout: 60_000 },
  reporter: [['list']],
  use: {
    storageState: STATE_FILE,
    viewport: { width: 1280, height: 800 },
    trace: 'retain-on-failure',
    launchOptions: { executablePath, args: chromiumArgs() },
  },
});
