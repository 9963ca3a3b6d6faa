import { FOREIGN, HOSTILE_MESSAGES } from './hostile';
import { hostUrl } from './host';
import { answer, ask, ended, expect, pick, prose, test } from './page';
import type { Page } from '@playwright/test';

// That no foreign request went out is checked after every test, this one too.
test('a hostile answer loads nothing and runs nothing', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'hostile');
  await ask(page, 'Show me something foreign.');
  await ended(page);
  await expect(prose(answer(page))).toContainText('The end');
  await expect(answer(page).locator('img, script, style, iframe, [style], [onerror]')).toHaveCount(0);
  await expect(page).not.toHaveTitle(/broken/);
  for (const link of await answer(page).locator('a').all()) {
    await expect(link).toHaveAttribute('href', /^https:\/\/foreign\.invalid\//);
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
    await expect(link).toHaveAttribute('target', '_blank');
  }
  await expect(answer(page).getByRole('link', { name: 'Image: pixel' })).toBeVisible();
});

test('a hundred hostile messages send no request and run no code', async ({ page, line }) => {
  test.setTimeout(300_000);
  const api = page.request;
  // They are asked in the same words, so that the name in the list and the question are hostile too.
  const ask = async (session: string, text: string): Promise<string> => {
    const reply = await api.post(`${hostUrl()}/api/v1/sessions/${session}/messages`, {
      // A question may hold no NUL; the answer does.
      data: { text: text.replaceAll('\u0000', ' '), models: ['barrage'], tools: [], stream: false },
      headers: { Cookie: await cookie(page) },
    });
    expect(reply.status(), await reply.text()).toBe(200);
    return ((await reply.json()) as { session_id: string }).session_id;
  };
  const sessions: string[] = [];
  for (const [i, text] of HOSTILE_MESSAGES.entries()) {
    if (i % 25 === 0) sessions.push(await ask('new', text));
    else await ask(sessions.at(-1) ?? '', text);
  }

  const asked: string[] = [];
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  network.on('Network.requestWillBeSent', (e) => asked.push(e.request.url));
  network.on('Network.webSocketCreated', (e) => asked.push(e.url));
  await page.addInitScript(() => {
    const hits: string[] = [];
    Object.assign(window, { hits });
    document.addEventListener('securitypolicyviolation', (e) => hits.push(`${e.violatedDirective}: ${e.blockedURI}`));
    for (const name of ['alert', 'confirm', 'prompt', 'open'] as const) Object.assign(window, { [name]: () => hits.push(name) });
  });

  let drawn = '';
  for (const session of sessions) {
    await page.goto(`/#/chat/${session}`);
    await page.reload();
    const questions = page.locator('[data-question]');
    await expect(questions).toHaveCount(25);
    for (let i = 24; i >= 0; i--) {
      const turn = page.locator('.turn').nth(i);
      await turn.scrollIntoViewIfNeeded();
      // Drawn from its packets, not from the stored text that stands in for them.
      await expect(turn.getByRole('article', { name: 'Answer by barrage' })).toBeVisible();
      drawn += (await turn.locator('.prose').allTextContents()).join('');
      const forbidden = 'script, style, iframe, object, embed, form, img, svg image, video, audio, link, meta, base, template, [onerror], [onload], [onclick], [onmouseover]';
      await expect(turn.locator('.prose').locator(forbidden)).toHaveCount(0);
      for (const link of await turn.locator('.prose a').all()) {
        expect(await link.getAttribute('href')).toMatch(/^(https?:|mailto:)/);
      }
    }
  }
  for (let i = 1; i <= HOSTILE_MESSAGES.length; i++) expect(drawn, `message ${i} was not drawn to its end`).toContain(`end ${i}`);
  expect(await page.evaluate(() => [(window as unknown as { hits: string[] }).hits, 'ran' in window, document.title])).toEqual([[], false, expect.not.stringMatching(/^ran$/)]);
  const own = (url: string): boolean => url.startsWith(`${line.url}/`) || url.startsWith(`${line.url.replace('http', 'ws')}/`);
  expect(asked.filter((url) => !own(url))).toEqual([]);
  expect(asked.some((url) => url.startsWith(FOREIGN))).toBe(false);
  expect(asked.length).toBeGreaterThan(0);
  // The page still works.
  await expect(page.getByRole('textbox', { name: 'Your question' })).toBeEditable();
});

async function cookie(page: Page): Promise<string> {
  return (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
}

test('a model that is down gives a sentence and ways on', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'absent');
  await ask(page, 'How do I declare a capability?');
  await ended(page);
  const problem = answer(page).getByRole('alert');
  await expect(problem).toContainText('Nothing answers at');
  await expect(problem.getByRole('button', { name: 'Retry' })).toBeEnabled();
  await problem.getByRole('button', { name: 'Ask extractive instead' }).click();
  await expect(answer(page).locator('.chip').first()).toBeVisible();
  await expect(page.getByText('2 of 2')).toBeVisible();
  await expect(page.getByRole('article', { name: 'Your question' })).toHaveCount(1);
});

test('an address of a conversation that does not exist says so', async ({ page }) => {
  await page.goto('/#/chat/s_01ARZ3NDEKTSV4RRFFQ69G5FAV');
  await expect(page.getByRole('alert')).toContainText("This conversation can't be shown.");
});

test.describe('without a session', () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test('the page says how to get in', async ({ page }) => {
    await page.goto('/');
    await expect(page.getByText('You are not signed in.')).toBeVisible();
    await expect(page.getByText('bulkhead user link owner')).toBeVisible();
  });
});
