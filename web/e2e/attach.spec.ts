import type { Page } from '@playwright/test';
import { answer, ask, composer, ended, expect, prose, test } from './page';

const toSend = (page: Page) => page.getByRole('list', { name: 'Files to send' }).getByRole('listitem');
const carried = (page: Page) => page.getByRole('article', { name: 'Your question' }).last().getByRole('list', { name: 'Attached files' });

const LOG = '# Log of the light\n\nThe light at Skerryvore burns forty litres of colza oil a night.\n\nThe keeper is called Ingrid.\n';

async function choose(page: Page, ...files: { name: string; mimeType: string; buffer: Buffer }[]): Promise<void> {
  await page.getByLabel('Files to attach').setInputFiles(files);
}

/** Drops or pastes a text file of that name. */
async function give(page: Page, how: 'drop' | 'paste', name: string, text: string): Promise<void> {
  await composer(page).evaluate(
    (field, { how, name, text }) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type: 'text/plain' }));
      const event =
        how === 'drop'
          ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
          : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
      field.dispatchEvent(event);
    },
    { how, name, text },
  );
}

test('a file is attached, asked about, cited, kept over a reload, and deleted', async ({ page }) => {
  await page.goto('/');
  await choose(page, { name: 'log.md', mimeType: 'text/markdown', buffer: Buffer.from(LOG) });
  await expect(toSend(page)).toContainText('log.md');
  await expect(toSend(page)).toContainText('115 B');
  await page.reload();
  await expect(toSend(page)).toContainText('log.md');

  await ask(page, 'What does the light at Skerryvore burn?');
  await ended(page);
  await expect(toSend(page)).toHaveCount(0);
  await expect(carried(page)).toContainText('log.md');
  await expect(answer(page)).toContainText('forty litres of colza oil');
  await answer(page).locator('.chip').first().click();
  const panel = page.getByRole('complementary', { name: 'Source' });
  await panel.getByRole('button', { name: 'Read the whole file' }).click();
  await expect(panel.getByLabel("The document's text")).toContainText('Ingrid');
  await page.keyboard.press('Escape');

  await page.reload();
  await expect(carried(page)).toContainText('log.md');
  await ask(page, 'How is the keeper called?');
  await ended(page, 2);
  await expect(answer(page)).toContainText('The keeper is called Ingrid.');

  const first = page.getByRole('article', { name: 'Your question' }).first();
  await first.getByRole('button', { name: /^log\.md/ }).click();
  await expect(panel.getByLabel("The document's text")).toContainText('colza');
  await page.keyboard.press('Escape');
  await first.hover();
  await first.getByRole('button', { name: 'Delete log.md' }).click();
  await first.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(first).toContainText('deleted');
  await page.reload();
  await expect(first).toContainText('deleted');
});

test('files come by drop and paste, and what is not text is refused in words', async ({ page }) => {
  await page.goto('/');
  await give(page, 'drop', 'dropped.csv', 'harbour;depth\nUist;7\n');
  await expect(toSend(page)).toContainText(['dropped.csv']);
  await give(page, 'paste', 'pasted.json', '{"keeper":"Ingrid"}');
  await expect(toSend(page)).toContainText(['dropped.csv', 'pasted.json']);
  await choose(
    page,
    { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]) },
    { name: 'huge.txt', mimeType: 'text/plain', buffer: Buffer.alloc(1024 * 1024 + 1, 'a') },
  );
  await expect(toSend(page).filter({ hasText: 'picture.png' })).toContainText('its header cannot be read');
  await expect(toSend(page).filter({ hasText: 'huge.txt' })).toContainText('more than 1 MiB');
  await page.getByRole('button', { name: 'Take pasted.json off' }).click();
  await expect(toSend(page)).toHaveCount(3);

  await ask(page, 'How deep is Uist?');
  await ended(page);
  await expect(carried(page).getByRole('listitem')).toHaveCount(1);
  await expect(answer(page)).toContainText('Uist');
});

test('a long file is read by its tool, and a changed question keeps its file', async ({ page }) => {
  await page.goto('/');
  const long = `The beacon on Noss is green.\n${'Nothing to report on this watch.\n'.repeat(4000)}`;
  await choose(page, { name: 'watch.txt', mimeType: 'text/plain', buffer: Buffer.from(long) });
  await expect(toSend(page)).toContainText('kB');
  await ask(page, 'Which colour is the beacon on Noss?');
  await ended(page);
  await expect(page.locator('.card').first()).toContainText('Read file');
  await expect(prose(answer(page)).last()).toContainText('The beacon on Noss is green.');
  await expect(answer(page).locator('.chip').first()).toHaveAttribute('aria-label', /watch\.txt/);
  await page.getByRole('article', { name: 'Your question' }).hover();
  await page.getByRole('button', { name: 'Change the question' }).click();
  await page.getByRole('textbox', { name: 'Change the question' }).fill('What colour has the beacon of Noss?');
  await page.keyboard.press('Enter');
  await expect(page.getByText('2 of 2')).toBeVisible();
  await ended(page);
  await expect(carried(page)).toContainText('watch.txt');
  await expect(prose(answer(page)).last()).toContainText('The beacon on Noss is green.');
});

test('a picture is shown before and after it is sent, and a model that cannot see it is named', async ({ page }) => {
  await page.goto('/');
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await choose(page, { name: 'boat.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') });
  const drawn = (image: HTMLImageElement) => image.decode().then(() => image.naturalWidth);
  expect(await toSend(page).getByRole('img', { name: 'boat.png' }).evaluate(drawn)).toBe(1);
  await expect(page.getByText('cannot see pictures')).toBeVisible();
  await ask(page, 'What is on it?');
  await ended(page);
  await page.reload();
  expect(await carried(page).getByRole('img', { name: 'boat.png' }).evaluate(drawn)).toBe(1);
});
