/** The conversation in every state that it can be in. */
import type { Page } from '@playwright/test';
import { SLOW_WORDS, poke } from '../host';
import { TUTOR, addAgents, removeAgents } from '../agents';
import { answer, ask, composer, ended, expect, pick, place, prose } from '../page';
import { setStage } from '../stage';
import type { Screen } from './screen';

/** Opens the page and asks a model. */
async function asked(page: Page, model: string, question: string): Promise<void> {
  await page.goto('/');
  await pick(page, model);
  await ask(page, question);
}

/** Plays a recording, up to the first packet of a type where one is named. */
async function played(page: Page, name: string, question: string, until = ''): Promise<void> {
  const stage = await setStage(page, name);
  await asked(page, 'extractive', question);
  await stage.play((p) => p.obj.type === until);
}

const attach = (page: Page, ...files: { name: string; mimeType: string; buffer: Buffer }[]): Promise<void> =>
  page.getByLabel('Files to attach').setInputFiles(files);

const LOG = { name: 'log-of-the-light-at-skerryvore-from-1878-to-1902-in-full.md', mimeType: 'text/markdown', buffer: Buffer.from('# Log\n\nThe light burns oil.\n') };
const PICTURE = { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]) };

const lost = (page: Page): Promise<void> => expect(page.getByText('The connection to the host is lost.')).toBeVisible();

export const CHAT: Screen[] = [
  { name: 'empty', go: async (page) => void (await page.goto('/')) },
  {
    name: 'answer',
    go: async (page) => {
      await asked(page, 'search', 'How do I declare a capability?');
      await ended(page);
    },
  },
  {
    name: 'tool and source',
    go: async (page) => {
      await asked(page, 'search', 'How do I declare a capability?');
      await ended(page);
      await answer(page).getByRole('button', { name: /^Thought for/ }).click();
      await page.locator('.card button').first().click();
      await answer(page).locator('.chip').first().click();
      await expect(page.getByRole('complementary', { name: 'Source' })).toBeVisible();
    },
  },
  {
    name: 'whole document',
    go: async (page) => {
      await asked(page, 'extractive', 'How do I declare a capability?');
      await ended(page);
      await answer(page).locator('.chip').first().click();
      await page.getByRole('button', { name: 'Read the whole document' }).click();
      await expect(page.getByLabel("The document's text")).toContainText('capabilit');
    },
  },
  {
    name: 'markdown',
    go: async (page) => {
      await asked(page, 'rich', 'Tell me about the tides.');
      await ended(page);
      await expect(answer(page).locator('.katex').first()).toBeVisible();
      await expect(answer(page).locator('.hljs-keyword').first()).toBeVisible();
    },
  },
  {
    name: 'long words',
    go: async (page) => {
      await asked(page, 'extractive', `Where is ${'Llanfairpwllgwyngyll'.repeat(12)} and what does https://lights.example/${'a-long-address/'.repeat(12)} say?`);
      await ended(page);
    },
  },
  {
    name: 'parallel calls',
    go: async (page) => {
      await asked(page, 'parallel', 'Look everywhere.');
      await ended(page);
      await page.getByRole('tablist', { name: 'Parallel tool calls' }).getByRole('tab').nth(1).click();
    },
  },
  {
    name: 'writing',
    go: async (page) => {
      await asked(page, 'slow', 'Tell me slowly.');
      await poke(12);
      await expect(prose(answer(page))).toContainText('word12');
    },
    leave: async (page) => {
      await poke(SLOW_WORDS - 12);
      await ended(page);
    },
  },
  {
    name: 'waiting for the model',
    go: async (page) => {
      await asked(page, 'slow', 'Say nothing yet.');
      await expect(page.getByText('Waiting for the model', { exact: true })).toBeVisible();
    },
    leave: async (page) => {
      await poke(SLOW_WORDS);
      await ended(page);
    },
  },
  {
    name: 'thinking',
    go: async (page) => {
      await played(page, 'live', 'Count the lamps.', 'reasoning_delta');
      await page.getByRole('button', { name: 'Thinking' }).click();
    },
  },
  {
    name: 'running tool',
    go: async (page) => {
      let outputs = 0;
      const stage = await setStage(page, 'live');
      await asked(page, 'extractive', 'Count the lamps.');
      await stage.play((p) => p.obj.type === 'tool_progress' && ++outputs === 9);
      await expect(page.getByRole('log')).toContainText('lamp 9 is lit');
    },
  },
  {
    name: 'agent at work',
    go: async (page) => {
      await played(page, 'nested', 'How much oil does the light burn?', 'tool_error');
      await expect(page.getByRole('list', { name: 'What Research is doing' }).getByRole('listitem')).toHaveCount(3);
    },
  },
  {
    name: 'report of an agent',
    go: async (page) => {
      await played(page, 'nested', 'How much oil does the light burn?');
      await page.locator('.card button').first().click();
      await expect(page.locator('.card').first()).toContainText('The keeper bought 1,600 litres a year');
    },
  },
  { name: 'waiting for consent', go: async (page) => played(page, 'broken', 'Write to Ingrid.', 'approval_request') },
  { name: 'broken off', go: async (page) => played(page, 'broken', 'Write to Ingrid.') },
  {
    name: 'failed calls',
    go: async (page) => {
      await played(page, 'outcomes', 'Try everything.');
      await page.locator('.card button').first().click();
    },
  },
  {
    name: 'doubt',
    go: async (page) => {
      await played(page, 'doubt', 'How much oil does the light burn?');
      await expect(answer(page).locator('.chip-weak')).toBeVisible();
    },
    again: async (page) => {
      await composer(page).focus();
      await answer(page).locator('.chip-absent').focus();
      await expect(page.getByRole('tooltip')).toBeVisible();
    },
  },
  {
    name: 'several models',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'search', 'extractive', 'rich');
      await ask(page, 'How do I declare a capability?');
      await ended(page);
    },
  },
  {
    name: 'several models, side by side',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'search', 'extractive', 'rich');
      await ask(page, 'How do I declare a capability?');
      await ended(page);
      await page.getByRole('button', { name: 'Side by side' }).click();
      await expect(page.getByRole('region', { name: 'Answers side by side' }).getByRole('article')).toHaveCount(3);
    },
  },
  {
    name: 'held back',
    go: async (page) => {
      await page.goto('/');
      await pick(page, 'holder', 'rich');
      await ask(page, 'Remember that the lamp burns colza oil.');
      await expect(page.getByRole('button', { name: /^Choose this answer/ })).toBeVisible();
      await page.locator('.card button').first().click();
    },
  },
  {
    name: 'model down',
    go: async (page) => {
      await asked(page, 'absent', 'Is anybody there?');
      await ended(page);
    },
  },
  {
    name: 'stopped',
    go: async (page) => {
      await asked(page, 'slow', 'Tell me until I stop you.');
      await poke(15);
      await expect(prose(answer(page))).toContainText('word15');
      await page.getByRole('button', { name: 'Stop the answer' }).click();
      await expect(page.getByText('You stopped this answer.')).toBeVisible();
    },
  },
  {
    name: 'line lost',
    go: async (page, line) => {
      await asked(page, 'extractive', 'How do I declare a capability?');
      await ended(page);
      line.refuse(true);
      line.drop();
      await lost(page);
      await ask(page, 'And then?');
      await expect(page.getByText('It is sent as soon as the host is back.')).toBeVisible();
    },
  },
  {
    name: 'reader scrolled up',
    go: async (page) => {
      await asked(page, 'rich', 'Tell me about the tides.');
      await ended(page);
      await ask(page, 'Tell me once more.');
      await ended(page, 2);
      await page.locator('[data-scroller]').hover();
      await page.mouse.wheel(0, -2000);
      await expect(page.getByRole('button', { name: 'Newest' })).toBeVisible();
      await place(answer(page)); // the wheel has come to rest
    },
  },
  {
    name: 'changing a question',
    go: async (page) => {
      await asked(page, 'extractive', 'How do I build a plugin in Go?');
      await ended(page);
      await page.getByRole('article', { name: 'Your question' }).hover();
      await page.getByRole('button', { name: 'Change the question' }).click();
    },
  },
  {
    name: 'versions',
    go: async (page) => {
      await asked(page, 'extractive', 'How do I build a plugin in Go?');
      await ended(page);
      await page.getByRole('button', { name: 'Answer again' }).click();
      await expect(page.getByText('2 of 2')).toBeVisible();
      await ended(page);
    },
  },
  {
    name: 'files to send',
    go: async (page) => {
      await page.goto('/');
      await attach(page, LOG, PICTURE);
      await expect(page.getByRole('list', { name: 'Files to send' }).getByRole('listitem')).toHaveCount(2);
      await composer(page).fill(`What is in it?\n${'A line of the question.\n'.repeat(30)}`);
    },
    leave: async (page) => {
      const list = page.getByRole('list', { name: 'Files to send' });
      await list.getByRole('button').first().click();
      await list.getByRole('button').first().click();
      await expect(list).toHaveCount(0);
    },
  },
  {
    name: 'attached file',
    go: async (page) => {
      await page.goto('/');
      await attach(page, LOG);
      await expect(page.getByRole('list', { name: 'Files to send' })).toContainText('B');
      await ask(page, 'What does the light burn?');
      await ended(page);
      await page.getByRole('article', { name: 'Your question' }).hover();
      await page.getByRole('button', { name: /^Delete log/ }).click();
    },
  },
  {
    name: 'private',
    go: async (page) => {
      await page.goto('/');
      await page.getByRole('button', { name: 'Private conversation' }).click();
      await ask(page, 'How do I declare a capability?');
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
    name: 'agent menu',
    go: async (page) => {
      await addAgents(page, TUTOR, ...Array.from({ length: 9 }, (_, i) => ({ name: `Keeper ${i + 1}`, instructions: `You keep the light number ${i + 1} and ${'nothing else, '.repeat(12)}ever.` })));
      await page.goto('/');
      await page.getByRole('button', { name: /^Agent:/ }).click();
      await expect(page.getByRole('searchbox', { name: 'Find an agent' })).toBeVisible();
    },
    leave: removeAgents,
  },
  {
    name: 'agent asked, and the tools menu',
    go: async (page) => {
      await addAgents(page, TUTOR, { name: 'Librarian' });
      await page.goto('/');
      await page.getByRole('button', { name: /^Agent:/ }).click();
      await page.getByRole('group', { name: 'Agent' }).getByRole('button', { name: 'Tutor' }).click();
      await ask(page, 'How do I declare a capability?');
      await ended(page);
      await page.getByRole('button', { name: /^Agent:/ }).click();
      await page.getByRole('group', { name: 'Agent' }).getByRole('button', { name: 'Librarian' }).click();
      await page.getByRole('button', { name: /^Tools:/ }).click();
      await page.getByRole('group', { name: 'Tools' }).getByRole('switch').nth(1).uncheck();
    },
    leave: removeAgents,
  },
];
