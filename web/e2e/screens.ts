/** The screens that a person sees, each with the way to it. */
import { SLOW_WORDS, poke } from './host';
import { answer, ask, ended, expect, pick, prose, test } from './page';
import type { Page } from '@playwright/test';

export interface Screen {
  name: string;
  go: (page: Page) => Promise<void>;
  /** Puts the host back as it was. */
  leave?: (page: Page) => Promise<void>;
  /** Without a session. */
  signedOut?: boolean;
}

export const SCREENS: Screen[] = [
  { name: 'empty', go: async (page) => void (await page.goto('/')) },
  {
    name: 'answer',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'search');
      await ask(page, 'How do I declare a capability?');
      await ended(page);
    },
  },
  {
    name: 'tool and source',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'search');
      await ask(page, 'How do I declare a capability?');
      await ended(page);
      await answer(page).getByRole('button', { name: /^Thought for/ }).click();
      await page.locator('.card button').first().click();
      await answer(page).locator('.chip').first().click();
      await expect(page.getByRole('complementary', { name: 'Source' })).toBeVisible();
    },
  },
  {
    name: 'markdown',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'rich');
      await ask(page, 'Tell me about the tides.');
      await ended(page);
      await expect(answer(page).locator('.katex').first()).toBeVisible();
      await expect(answer(page).locator('.hljs-keyword').first()).toBeVisible();
    },
  },
  {
    name: 'parallel calls',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'parallel');
      await ask(page, 'Look everywhere.');
      await ended(page);
      await page.getByRole('tablist', { name: 'Parallel tool calls' }).getByRole('tab').first().click();
    },
  },
  {
    name: 'writing',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'slow');
      await ask(page, 'Tell me slowly.');
      await poke(12);
      await expect(prose(answer(page))).toContainText('word12');
    },
    leave: async (page) => {
      await poke(SLOW_WORDS - 12);
      await ended(page);
    },
  },
  {
    name: 'model down',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'absent');
      await ask(page, 'Is anybody there?');
      await ended(page);
    },
  },
  {
    name: 'no such conversation',
    go: async (page) => {
      await page.goto('/#/chat/s_01ARZ3NDEKTSV4RRFFQ69G5FAV');
      await expect(page.getByRole('alert')).toBeVisible();
    },
  },
  {
    name: 'model menu',
    go: async (page) => {
      await page.goto('/');
      await page.getByRole('button', { name: /^Model:/ }).click();
    },
  },
  {
    name: 'models',
    go: async (page) => {
      await page.goto('/#/models');
      await page.getByRole('button', { name: 'Add a model' }).click();
      const row = page.getByRole('listitem').filter({ hasText: 'absent' });
      await row.getByRole('button', { name: 'Test absent' }).click();
      await expect(row).toContainText('This model can’t be asked yet.');
    },
  },
  {
    name: 'knowledge',
    go: async (page) => {
      await page.goto('/#/knowledge');
      await expect(page.getByRole('heading', { name: /^\d+ documents?$/ })).toBeVisible();
    },
  },
  {
    name: 'memory',
    go: async (page) => {
      await page.goto('/#/memory');
      await page.getByRole('textbox', { name: 'Something to remember' }).fill('I read French.');
      await page.keyboard.press('Enter');
      await expect(page.locator('.memories li')).toHaveCount(1);
    },
    leave: async (page) => {
      await page.getByRole('button', { name: 'Delete "I read French."' }).click();
      await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
      await page.reload(); // the deletion is final when its time for undoing has passed or the page is left
      await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
    },
  },
  {
    name: 'attached file',
    go: async (page) => {
      await page.goto('/');
      await page.getByLabel('Files to attach').setInputFiles([{ name: 'log.md', mimeType: 'text/markdown', buffer: Buffer.from('# Log\n\nThe light burns oil.\n') }]);
      await expect(page.getByRole('list', { name: 'Files to send' }).getByRole('listitem')).toContainText('log.md');
    },
    leave: async (page) => {
      await page.getByRole('list', { name: 'Files to send' }).getByRole('button').last().click();
      await expect(page.getByRole('list', { name: 'Files to send' })).toHaveCount(0);
    },
  },
  {
    name: 'tools',
    go: async (page) => {
      await page.goto('/#/tools');
      await expect(page.getByRole('listitem').first()).toBeVisible();
    },
  },
  {
    name: 'keys',
    go: async (page) => {
      await page.goto('/');
      await page.getByRole('button', { name: 'New chat' }).focus();
      await page.keyboard.press('?');
      await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
    },
  },
  {
    name: 'signed out',
    signedOut: true,
    go: async (page) => {
      await page.goto('/');
      await expect(page.getByText('You are not signed in.')).toBeVisible();
    },
  },
];

export { expect, test };
