/** The places beside the conversation, the sidebar and what lies over everything. */
import type { Page } from '@playwright/test';
import { TUTOR, addAgents, removeAgents } from '../agents';
import { holdTools } from '../plugins';
import { ask, ended, expect } from '../page';
import type { Screen } from './screen';

const REFUSAL = { status: 503, contentType: 'application/json', body: '{"error":{"code":"unavailable","message":"The store is being copied. Try again in a minute."}}' };

/** Lets the host refuse, or answer with nothing, what a place asks for. */
const refuse = (page: Page, what: string): Promise<unknown> => page.route(`**/api/v1/${what}`, (route) => route.fulfill(REFUSAL));
const nothing = (page: Page, what: string, key: string): Promise<unknown> => page.route(`**/api/v1/${what}`, (route) => route.fulfill({ json: { [key]: [] } }));
/** Lets the host take its time. */
const hold = (page: Page, what: string): Promise<unknown> => page.route(`**/api/v1/${what}`, () => new Promise<void>(() => undefined));

async function listed(page: Page): Promise<void> {
  await page.goto('/');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
}

/** Shows the sidebar where it is folded away. */
async function openSidebar(page: Page): Promise<void> {
  if (await page.getByRole('button', { name: 'New chat' }).isVisible()) return;
  await page.getByRole('button', { name: 'Show the sidebar' }).click();
  await expect(page.getByRole('button', { name: 'New chat' })).toBeVisible();
}

async function openMenu(page: Page): Promise<void> {
  await openSidebar(page);
  const entry = page.getByRole('button', { name: 'Rename', exact: true });
  if (!(await entry.isVisible())) await page.getByRole('button', { name: /^Rename, pin or delete/ }).first().click();
}

/** The memories that a test wrote are deleted for good when the page is left. */
async function forget(page: Page): Promise<void> {
  const rows = page.locator('.memories li');
  for (let left = await rows.count(); left > 0; left--) {
    await rows.first().getByRole('button', { name: /^Delete/ }).click();
    await expect(rows).toHaveCount(left - 1);
  }
  await page.reload();
  await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
}

const DOCUMENT = { name: 'lamp-oil.md', mimeType: 'text/markdown', buffer: Buffer.from('# Lamp oil\n\nThe lighthouse burns colza oil.\n') };
const NOT_TEXT = { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]) };

export const PLACES: Screen[] = [
  {
    name: 'sidebar',
    onlyNarrow: true,
    go: async (page) => {
      await listed(page);
      await openSidebar(page);
    },
  },
  {
    name: 'conversation menu',
    go: async (page) => {
      await listed(page);
      await openMenu(page);
    },
    again: openSidebar,
  },
  {
    name: 'renaming',
    go: listed,
    again: async (page) => {
      await openSidebar(page);
      const field = page.getByRole('textbox', { name: 'Name of the conversation' });
      if (await field.isVisible()) return;
      await openMenu(page);
      await page.getByRole('button', { name: 'Rename', exact: true }).click();
      await expect(field).toBeFocused();
    },
  },
  {
    name: 'undo',
    go: async (page) => {
      await listed(page);
      await openMenu(page);
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      // As long as it is pointed at it does not go.
      await page.getByRole('button', { name: 'Undo' }).focus();
    },
  },
  {
    name: 'nothing found',
    go: async (page) => {
      await page.goto('/');
      await page.keyboard.press('Control+k');
      await page.getByRole('searchbox').fill('no such words');
      await expect(page.getByText('No conversation has these words in its name.')).toBeVisible();
    },
    again: openSidebar,
  },
  {
    name: 'no conversations',
    go: async (page) => {
      await nothing(page, 'sessions?*', 'sessions');
      await page.goto('/');
      await openSidebar(page);
      await expect(page.getByText('Your conversations will be listed here.')).toBeVisible();
    },
    again: openSidebar,
  },
  {
    name: 'models',
    go: async (page) => {
      await page.goto('/#/models');
      await page.getByRole('button', { name: 'Add a model' }).click();
      await page.getByText('Advanced', { exact: true }).click();
      const row = page.getByRole('listitem').filter({ hasText: 'absent' });
      await row.getByRole('button', { name: 'Test absent' }).click();
      await expect(row).toContainText("This model can't be asked yet.");
    },
  },
  {
    name: 'models error',
    go: async (page) => {
      await refuse(page, 'models');
      await page.goto('/#/models');
      await expect(page.getByRole('alert')).toContainText('The store is being copied.');
    },
  },
  {
    name: 'models, not an operator',
    go: async (page) => {
      await page.route('**/api/v1/me', async (route) => {
        const reply = await route.fetch();
        const body = (await reply.json()) as { user: object };
        await route.fulfill({ response: reply, json: { ...body, user: { ...body.user, operator: false } } });
      });
      await page.goto('/#/models');
      await expect(page.getByText('is up to the operator')).toBeVisible();
    },
  },
  {
    name: 'knowledge',
    go: async (page) => {
      await page.goto('/#/knowledge');
      await page.getByLabel('Documents to add').setInputFiles([DOCUMENT, NOT_TEXT]);
      await expect(page.locator('.uploads li').filter({ hasText: 'picture.png' })).toContainText('Not added.');
      await page.getByRole('button', { name: 'Remove "Lamp oil"' }).click();
    },
    leave: async (page) => {
      await page.getByRole('button', { name: 'Remove', exact: true }).click();
      await expect(page.locator('.documents')).not.toContainText('Lamp oil');
    },
  },
  {
    name: 'knowledge, empty',
    go: async (page) => {
      await nothing(page, 'documents', 'documents');
      await page.goto('/#/knowledge');
      await expect(page.getByText('There are no documents yet.')).toBeVisible();
    },
    // What the place is for is there at every width.
    again: async (page) => await expect(page.getByRole('button', { name: 'Add documents' })).toBeVisible(),
  },
  {
    name: 'knowledge, loading',
    go: async (page) => {
      await hold(page, 'documents');
      await page.goto('/#/knowledge');
      await expect(page.getByText('Fetching the list of documents')).toBeVisible();
    },
  },
  {
    name: 'knowledge, error',
    go: async (page) => {
      await refuse(page, 'documents');
      await page.goto('/#/knowledge');
      await expect(page.getByRole('alert')).toBeVisible();
    },
  },
  {
    name: 'memory, empty',
    go: async (page) => {
      await page.goto('/#/memory');
      await expect(page.getByText('Nothing is remembered yet.')).toBeVisible();
    },
  },
  {
    name: 'memory',
    go: async (page) => {
      await page.goto('/#/memory');
      const texts = ['I read French.', `I keep the light at ${'Llanfairpwllgwyngyll'.repeat(8)}.`, ...Array.from({ length: 11 }, (_, i) => `Lamp ${i + 1} is mine.`)];
      for (const [i, text] of texts.entries()) {
        await page.getByRole('textbox', { name: 'Something to remember' }).fill(text);
        await page.keyboard.press('Enter');
        await expect(page.locator('.memories li')).toHaveCount(i + 1);
      }
      await page.getByRole('button', { name: 'Change "Lamp 11 is mine."' }).click();
    },
    leave: async (page) => {
      await page.getByRole('button', { name: 'Keep as it was' }).click();
      await forget(page);
    },
  },
  {
    name: 'memory, error',
    go: async (page) => {
      await refuse(page, 'memories');
      await page.goto('/#/memory');
      await expect(page.getByRole('alert')).toBeVisible();
    },
  },
  {
    name: 'agents, empty',
    go: async (page) => {
      await nothing(page, 'agents', 'agents');
      await page.goto('/#/agents');
      await expect(page.getByText('There are no agents yet.')).toBeVisible();
    },
  },
  {
    name: 'agents',
    go: async (page) => {
      await addAgents(page, TUTOR, { name: 'Keeper of the logs of the light at Llanfairpwllgwyngyllgogerychwyrndrobwll', tools: [] });
      await page.goto('/#/agents');
      await expect(page.locator('.agents li')).toHaveCount(2);
      await page.getByRole('button', { name: 'Set up an agent' }).click();
      const form = page.getByRole('form', { name: 'Set up an agent' });
      await form.getByLabel('Only these').check();
      await form.getByLabel('Most cycles').fill('99');
      await form.getByRole('button', { name: 'Set up' }).click();
      await expect(form.getByText('Give it a name.')).toBeVisible();
    },
    leave: async (page) => {
      await page.getByRole('button', { name: 'Cancel' }).click();
      await removeAgents(page);
    },
  },
  {
    name: 'agents, error',
    go: async (page) => {
      await refuse(page, 'agents');
      await page.goto('/#/agents');
      await expect(page.getByRole('alert')).toContainText('The store is being copied.');
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
    name: 'tools that wait',
    go: async (page) => {
      await holdTools(page);
      await page.goto('/#/tools');
      const waiting = page.getByRole('region', { name: 'Tools of search that wait' });
      await waiting.getByText(/^Arguments/).first().click();
      await expect(waiting.getByText('Before', { exact: true })).toBeVisible();
    },
  },
  {
    name: 'tools, error',
    go: async (page) => {
      await refuse(page, 'tools');
      await page.goto('/#/tools');
      await expect(page.getByRole('alert')).toBeVisible();
    },
  },
  {
    name: 'keys',
    go: async (page) => {
      await page.goto('/');
      await expect(page.getByRole('textbox', { name: 'Your question' })).toBeVisible();
      await page.locator('body').press('Escape');
      await page.locator('#main').focus();
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
  {
    name: 'host unreachable',
    go: async (page) => {
      await page.route('**/api/v1/me', (route) => route.abort());
      await page.goto('/');
      await expect(page.getByRole('heading', { name: 'The host does not answer' })).toBeVisible();
    },
  },
];
