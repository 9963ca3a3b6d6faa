/**
 * What the page costs where there is much to draw: a conversation of 500
 * messages, and an answer of 200 KB as it streams. The figures are printed.
 * A long task holds the main thread for more than 50 ms; a frame is late when
 * it comes more than 33 ms after the one before, at 60 a second.
 */
import type { Page } from '@playwright/test';
import { hostUrl } from './host';
import { answer, ask, expect, pick, prose, test } from './page';

const TURNS = 250;

interface Strain {
  seconds: number;
  frames: number;
  late: number;
  worstFrame: number;
  longTasks: number;
  longTotal: number;
  worstTask: number;
}

/** Begins to watch the frames and the long tasks of the page. */
async function watch(page: Page): Promise<() => Promise<Strain>> {
  await page.evaluate(() => {
    const gaps: number[] = [];
    const tasks: number[] = [];
    const begun = performance.now();
    let last = 0;
    let going = true;
    const frame = (now: number): void => {
      if (last > 0) gaps.push(now - last);
      last = now;
      if (going) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration)));
    observer.observe({ type: 'longtask' });
    const round = (n: number): number => Math.round(n);
    const report = (): Strain => {
      going = false;
      observer.disconnect();
      return {
        seconds: Math.round((performance.now() - begun) / 100) / 10,
        frames: gaps.length,
        late: gaps.filter((g) => g > 33).length,
        worstFrame: round(Math.max(0, ...gaps)),
        longTasks: tasks.length,
        longTotal: round(tasks.reduce((a, b) => a + b, 0)),
        worstTask: round(Math.max(0, ...tasks)),
      };
    };
    Object.assign(window, { report });
  });
  return () => page.evaluate(() => (window as unknown as { report: () => Strain }).report());
}

/**
 * Waits until the newest answer of some number has ended, by what the page tells:
 * the test's own look at the page, again and again, would be measured too.
 */
const answered = (page: Page, least: number): Promise<void> =>
  page.evaluate(
    (least) =>
      new Promise<void>((done) => {
        const look = (): void => {
          const answers = document.querySelectorAll('article[aria-busy]');
          if (document.querySelectorAll('[data-question]').length < least || answers.length === 0) return;
          if (answers[answers.length - 1]?.getAttribute('aria-busy') !== 'false') return;
          observer.disconnect();
          done();
        };
        const observer = new MutationObserver(look);
        observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-busy'] });
        look();
      }),
    least,
  );

function print(what: string, s: Strain): void {
  console.log(
    `${what}: ${s.seconds} s, ${s.frames} frames, ${s.late} late (worst ${s.worstFrame} ms), ${s.longTasks} long tasks of ${s.longTotal} ms in all (worst ${s.worstTask} ms)`,
  );
}

test('an answer of 200 KB', async ({ page }) => {
  await page.goto('/');
  await pick(page, 'long');
  const done = await watch(page);
  await ask(page, 'Tell me everything.');
  await answered(page, 1);
  print('200 KB streamed, followed at the end', await done());
  const size = await prose(answer(page)).last().evaluate((e) => (e as HTMLElement).innerText.length);
  console.log(`drawn: ${size} characters`);
});

test('a conversation of 500 messages', async ({ page }) => {
  const headers = { Cookie: (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join('; ') };
  let session = 'new';
  for (let i = 0; i < TURNS; i++) {
    const reply = await page.request.post(`${hostUrl()}/api/v1/sessions/${session}/messages`, {
      data: { text: `Tell me about the tides, part ${i + 1}.`, models: ['rich'], tools: [], stream: false },
      headers,
    });
    expect(reply.status(), await reply.text()).toBe(200);
    session = ((await reply.json()) as { session_id: string }).session_id;
  }
  await page.goto('/#/knowledge');
  await expect(page.getByRole('heading', { name: /documents$/ })).toBeVisible();
  const opened = await watch(page);
  await page.evaluate((to) => (location.hash = to), `#/chat/${session}`);
  await answered(page, TURNS);
  print('500 messages opened', await opened());

  const scrolled = await watch(page);
  await page.locator('main [data-scroller]').hover();
  for (let i = 0; i < 150; i++) {
    await page.mouse.wheel(0, -900);
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(next)));
  }
  print('500 messages scrolled up by 135,000 pixels', await scrolled());

  const typed = await watch(page);
  await page.getByRole('textbox', { name: 'Your question' }).pressSequentially('What else is there to say about the tides at Skerryvore?');
  print('a question typed below 500 messages', await typed());

  const followed = await watch(page);
  await page.getByRole('textbox', { name: 'Your question' }).press('Enter');
  await answered(page, TURNS + 1);
  print('one more answer', await followed());
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  const heap = await page.context().newCDPSession(page).then((cdp) => cdp.send('Runtime.getHeapUsage'));
  console.log(`${nodes} elements, ${(heap.usedSize / 1e6).toFixed(1)} MB of JavaScript heap`);
});
