import { describe, expect, it } from 'vitest';
import { renderMarkdown } from './markdown';
import type { Citation } from './run';

const one: Citation[] = [{ number: 1, document: { id: 'd1', title: 'A "quoted" <title>', snippet: '', source: 'knowledge' } }];
const html = (text: string, citations: Citation[] = []) => renderMarkdown(text, citations).join('');

describe('renderMarkdown', () => {
  it('draws a chip only for a number that was announced', () => {
    const out = html('Yes [[1]], no [[2]].', one);
    expect(out).toContain('data-cite="1"');
    expect(out).toContain('no [[2]].');
    expect(out).toContain('A &quot;quoted&quot; &lt;title&gt;');
  });

  it('leaves markers in code as they are', () => {
    expect(html('`a[[1]]`\n\n```\nb[[1]]\n```', one)).not.toContain('data-cite');
  });

  it('never writes an image, and links only to the web and to mail', () => {
    const out = html('![x](https://evil.test/p.png) ![y](javascript:alert(1)) [z](javascript:alert(1)) [r](/api/v1/sign-out) <img src=q>');
    expect(out).not.toMatch(/<img/);
    expect(out.match(/href="/g)).toHaveLength(1);
    expect(out).toContain('href="https://evil.test/p.png" target="_blank" rel="noopener noreferrer"');
    expect(out).toContain('&lt;img src=q&gt;');
  });

  it('gives earlier blocks the same html while the text grows', () => {
    const text = '# Title\n\nFirst **bold** part.\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\nLast part.';
    const whole = renderMarkdown(text);
    for (let cut = 0; cut < text.length; cut++) {
      const partial = renderMarkdown(text.slice(0, cut));
      // A heading underline or a list can still change the block before the last.
      for (const [i, block] of partial.slice(0, -2).entries()) expect(block).toBe(whole[i]);
    }
  });

  it('marks the use of a citation that its source does not carry', () => {
    const text = 'Sure [[1]]. Doubtful [[1]].';
    const out = renderMarkdown(text, one, [{ number: 1, start: 12, end: 27, support: 'absent', reason: 'not in the text' }])[0] ?? '';
    expect(out.match(/chip-absent/g)).toHaveLength(1);
    expect(out.indexOf('chip-absent')).toBeGreaterThan(out.indexOf('Doubtful'));
    expect(out).toContain('does not support this: not in the text');
  });

  it('writes no style attribute for aligned tables', () => {
    const out = html('| a | b |\n|:-:|--:|\n| 1 | 2 |');
    expect(out).not.toContain('style=');
    expect(out).toContain('class="align-right"');
  });
});

describe('formulas', () => {
  const tex = (text: string) => [...html(text).matchAll(/data-math="(\w+)"[^>]*>([^<]*)</g)].map((m) => `${m[1]}:${m[2]}`);

  it('finds the usual ways to write one', () => {
    expect(tex('If $a^2 + b^2$ and \\(c\\) then $$d$$.')).toEqual(['inline:a^2 + b^2', 'inline:c', 'inline:d']);
    expect(tex('Before\n$$\nx = y\n$$\nafter\n\n\\[ z \\]')).toEqual(['block:x = y', 'block:z']);
  });

  it('takes no price, no code and no escape for one', () => {
    for (const text of ['It costs $5 and $6.', 'From $5-$10', '`$a$`', '\\$a\\$', 'a $ b $ c', '$$', '$$\n\nx', '```\n$$\nx\n$$\n```', '\\(unclosed']) {
      expect(tex(text), text).toEqual([]);
    }
  });

  it('keeps markup within as text', () => {
    expect(html('$<img src=x onerror=alert(1)>$')).toContain('&lt;img');
  });

  it('stays quick on what would make a search go over the text again and again', () => {
    for (const text of ['$a '.repeat(20000), '\\('.repeat(20000), '$$\n'.repeat(5000), '\\[\n'.repeat(5000)]) {
      expect(renderMarkdown(text).length).toBeGreaterThan(0);
    }
  });
});

describe('code', () => {
  it('is coloured under the usual names of a language, and plain text otherwise', () => {
    const asked: string[] = [];
    const out = renderMarkdown('```TS title\na<b\n```\n\n```what\na<b\n```', [], [], (code, language) => {
      asked.push(language);
      return language === 'typescript' ? `<span class="hljs-keyword">${code.length}</span>` : null;
    }).join('');
    renderMarkdown('```__proto__\nx\n```\n\n```constructor\nx\n```', [], [], (_code, language) => (asked.push(language), null));
    expect(asked).toEqual(['typescript', 'what', '__proto__', 'constructor']);
    expect(out).toContain('<span class="hljs-keyword">3</span>');
    expect(out).toContain('a&lt;b');
  });
});

describe('shape', () => {
  it('loses no text that is nested deeper than the parser goes', () => {
    for (const nested of ['- ', '> ', '1. ']) {
      expect(html(`${nested.repeat(1500)}deep\n\nThe end`), nested).toContain('The end');
      expect(html(`${nested.repeat(1500)}deep\n\nThe end`), nested).toContain('deep');
    }
  });
});
