import { SLOW_WORDS, poke, slowText } from './host';
import { answer, ask, composer, ended, expect, pick, place, prose, test } from './page';

test('a reload in the middle of an answer loses nothing and repeats nothing', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me slowly.');
  await poke(20);
  await expect(prose(answer(page))).toHaveText(slowText(20));
  await page.reload();
  await expect(prose(answer(page))).toHaveText(slowText(20));
  await expect(page.getByRole('button', { name: 'Stop the answer' })).toBeVisible();
  await poke(SLOW_WORDS - 20);
  await ended(page);
  await expect(prose(answer(page))).toHaveText(slowText(SLOW_WORDS));
  await page.reload();
  await expect(prose(answer(page))).toHaveText(slowText(SLOW_WORDS));
  await expect(page.getByRole('article', { name: /^Answer/ })).toHaveCount(1);
});

test('a broken line comes back by itself and the answer goes on', async ({ page, line }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me over a bad line.');
  await poke(10);
  await expect(prose(answer(page))).toHaveText(slowText(10));
  line.refuse(true);
  line.drop();
  await expect(page.getByText('The connection to the host is lost.')).toBeVisible();
  await poke(20);
  line.refuse(false);
  await expect(prose(answer(page))).toHaveText(slowText(30));
  await expect(page.getByText('The connection to the host is lost.')).toBeHidden();
  line.drop();
  await poke(SLOW_WORDS - 30);
  await ended(page);
  await expect(prose(answer(page))).toHaveText(slowText(SLOW_WORDS));
});

test('a question asked while the line is down is sent once it is back, and only once', async ({ page, line }) => {
  await page.goto('/');
  await expect(page.getByRole('button', { name: 'Model: extractive' })).toBeVisible();
  line.refuse(true);
  line.drop();
  await expect(page.getByText('The connection to the host is lost.')).toBeVisible();
  await ask(page, 'How do I declare a capability?');
  await expect(page.getByText('It is sent as soon as the host is back.')).toBeVisible();
  line.refuse(false);
  await ended(page);
  await page.reload();
  await ended(page);
  await expect(page.getByRole('article', { name: 'Your question' })).toHaveCount(1);
  await expect(page.getByRole('article', { name: /^Answer/ })).toHaveCount(1);
});

test('stopping keeps what arrived, and the next question is answered', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me until I stop you.');
  await poke(15);
  await expect(prose(answer(page))).toHaveText(slowText(15));
  await page.getByRole('button', { name: 'Stop the answer' }).click();
  await expect(page.getByText('You stopped this answer.')).toBeVisible();
  await expect(prose(answer(page))).toHaveText(slowText(15));
  await page.reload();
  await expect(page.getByText('You stopped this answer.')).toBeVisible();
  await expect(prose(answer(page))).toHaveText(slowText(15));

  await pick(page, 'extractive');
  await ask(page, 'How do I declare a capability?');
  await ended(page, 2);
  await expect(answer(page).locator('.chip').first()).toBeVisible();
});

test('Escape stops the answer', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me until I press Escape.');
  await poke(3);
  await expect(prose(answer(page))).toHaveText(slowText(3));
  await page.keyboard.press('Escape');
  await expect(page.getByText('You stopped this answer.')).toBeVisible();
});

test('what is typed survives a reload', async ({ page }) => {
  await page.goto('/');
  await composer(page).fill('Half a thou');
  await page.reload();
  await expect(composer(page)).toHaveValue('Half a thou');
});

test('a reader who scrolled up is left alone and finds the way back', async ({ page }) => {
  await page.setViewportSize({ width: 500, height: 420 });
  await page.goto('/');
  await pick(page, 'slow');
  await ask(page, 'Tell me much.');
  await poke(SLOW_WORDS - 5);
  await expect(prose(answer(page))).toHaveText(slowText(SLOW_WORDS - 5));
  const scroller = page.locator('.scroller');
  await scroller.hover();
  await page.mouse.wheel(0, -400);
  await expect(page.getByRole('button', { name: 'Newest' })).toBeVisible();
  await place(prose(answer(page))); // the wheel has come to rest
  const before = await scroller.evaluate((e) => e.scrollTop);
  await poke(5);
  await ended(page);
  expect(await scroller.evaluate((e) => e.scrollTop)).toBe(before);
  await page.getByRole('button', { name: 'Newest' }).click();
  await expect(page.getByRole('button', { name: 'Newest' })).toBeHidden();
});
