import { describe, expect, it } from 'vitest';
import { HOSTILE_MESSAGES } from '../../e2e/hostile';
import { GrowingMarkdown } from './growing';
import { renderMarkdown, type Context } from './markdown';
import type { Citation, SupportMark } from './run';

const one: Citation[] = [{ number: 1, document: { id: 'd1', title: 'Log', snippet: '', source: 'knowledge' } }];
const plain: Context = { citations: [], supports: [], highlight: () => null };

const BLOCKS = [
  '## Tides\n\nThe height follows $h(t)$, so the lamp is *lit*, says [[1]] and [the log][log].',
  '$$\n\\int_0^T h(t)\\,dt\n$$',
  '| a | b |\n|:--|--:|\n| 1 | 2 [[1]] |',
  '1. one\n2. two\n   - three\n\n   four\n\n   ```go\n   func main() {}\n   ```',
  '> quoted\n> - and listed\nlazily',
  '```go\n\nfunc main() {\n}\n\n# no heading\n```',
  'A line\n===\nanother\n---\n\n***',
  '    indented code\n\n    more of it',
  '$$ never closed\n\nand on',
  '[here]: https://lights.example/here\n\n[here] and [there][log].',
];

/** Gives text to a renderer piece by piece and compares each step with the whole. */
function grow(text: string, step: number, context: Context): void {
  const growing = new GrowingMarkdown();
  for (let end = step; end < text.length + step; end += step) {
    const soFar = text.slice(0, end);
    expect(growing.render(soFar, context), `at ${end}`).toEqual(renderMarkdown(soFar, context.citations, context.supports));
  }
}

describe('growing Markdown', () => {
  it('gives at every step what the whole gives', () => {
    const text = Array.from({ length: 60 }, (_, i) => BLOCKS[(i * 7) % BLOCKS.length]).join('\n\n');
    expect(text.split('\n').length).toBeGreaterThan(250);
    for (const step of [37, 211, 1009]) grow(text, step, { ...plain, citations: one });
  });

  it('completes earlier links when their definition comes late, also while it is written', () => {
    const text = `${Array.from({ length: 40 }, (_, i) => `Part ${i}, see [the log][log].\n\nMore.\n\n- x`).join('\n\n')}\n\n[log]: https://lights.example/log/of/1878\n\nThe end, see [log].`;
    grow(text, 5, plain);
  });

  it('gives what the whole gives for hostile messages, one behind the other', () => {
    grow(HOSTILE_MESSAGES.filter((m) => m.length < 3000).join('\n\n'), 1777, { ...plain, citations: one });
  });

  it('takes up grades that come for what is settled', () => {
    const text = `Sure [[1]]. Doubtful [[1]].\n\n${'More.\n\n'.repeat(100)}`;
    const growing = new GrowingMarkdown();
    growing.render(text, { ...plain, citations: one });
    const supports: SupportMark[] = [{ number: 1, start: 12, end: 27, support: 'absent', reason: 'not in the text' }];
    expect(growing.render(`${text}End.`, { ...plain, citations: one, supports })).toEqual(renderMarkdown(`${text}End.`, one, supports));
  });

  it('follows a text that is another one', () => {
    const growing = new GrowingMarkdown();
    growing.render('One.\n\n'.repeat(100), plain);
    expect(growing.render('Two.\n\n'.repeat(100), plain)).toEqual(renderMarkdown('Two.\n\n'.repeat(100)));
    expect(growing.render('Three.', plain)).toEqual(renderMarkdown('Three.'));
  });

  it('parses only the end of a long text again', () => {
    const growing = new GrowingMarkdown();
    let asked = 0;
    const context: Context = { ...plain, highlight: () => (asked++, null) };
    const text = '```go\nx\n```\n\nMore.\n\n'.repeat(200);
    growing.render(text, context);
    asked = 0;
    growing.render(`${text}End.`, context);
    expect(asked).toBeLessThan(30);
  });
});
