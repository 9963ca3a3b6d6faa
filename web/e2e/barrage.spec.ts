/** A hundred hostile messages, drawn one after another. */
import type { Page } from '@playwright/test';
import { FOREIGN, HOSTILE_MESSAGES } from './hostile';
import { hostUrl } from './host';
import { expect, test } from './page';

// The faults say all that there is to say, so that no step is traced.
test.use({ trace: 'off' });

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
  // Four conversations at once, since each takes one question at a time.
  const sessions = await Promise.all(
    [0, 25, 50, 75].map(async (from) => {
      const [first = '', ...others] = HOSTILE_MESSAGES.slice(from, from + 25);
      const session = await ask('new', first);
      for (const text of others) await ask(session, text);
      return session;
    }),
  );

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
      const seen = await turn.evaluate((node) => {
        const forbidden = 'script, style, iframe, object, embed, form, img, svg image, video, audio, link, meta, base, template, [onerror], [onload], [onclick], [onmouseover]';
        const prose = [...node.querySelectorAll('.prose')];
        return {
          text: prose.map((p) => p.textContent).join(''),
          forbidden: prose.flatMap((p) => [...p.querySelectorAll(forbidden)].map((e) => e.outerHTML)),
          links: prose.flatMap((p) => [...p.querySelectorAll('a')].map((a) => a.getAttribute('href') ?? '')).filter((href) => !/^(https?:|mailto:)/.test(href)),
        };
      });
      drawn += seen.text;
      expect([seen.forbidden, seen.links]).toEqual([[], []]);
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
