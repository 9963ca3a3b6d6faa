/**
 * Markdown as a model or a document writes it, made safe to show. Raw HTML is
 * text, an image is a link to it, a link leads only to http, https or mailto:
 * rendering makes no request to anywhere. A marker [[n]] whose n was announced
 * becomes a chip, any other stays text.
 */
import MarkdownIt from 'markdown-it';
import { useMath } from './mathSyntax';
import type { Citation, SupportMark } from './run';

interface Env {
  citations: ReadonlyMap<number, Citation>;
  /** Doubted uses of a citation: "number:occurrence" to the reason. */
  doubts: ReadonlyMap<string, Doubt>;
  /** How often each number was seen, to tell its uses apart. */
  seen: Map<number, number>;
  highlight: Highlight;
}

/** Returns code as HTML with coloured spans, null to leave it plain. */
export type Highlight = (code: string, language: string) => string | null;

/** Names by which code fences call a language that is known by another. */
const ALIASES = new Map(Object.entries({
  sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', js: 'javascript', jsx: 'javascript', mjs: 'javascript', ts: 'typescript',
  tsx: 'typescript', py: 'python', rb: 'ruby', rs: 'rust', golang: 'go', html: 'xml', svg: 'xml', svelte: 'xml', vue: 'xml', yml: 'yaml',
  toml: 'ini', 'c++': 'cpp', cc: 'cpp', h: 'c', 'c#': 'csharp', cs: 'csharp', kt: 'kotlin', docker: 'dockerfile', make: 'makefile',
  wat: 'wasm', patch: 'diff', jsonc: 'json', json5: 'json',
}));

export interface Doubt {
  support: 'weak' | 'absent';
  reason: string;
  /** What was graded, as it was written. */
  claim: string;
}

/** The parser stops at 100, and a list item takes three levels. */
const MAX_LEVEL = 90;
const MARKER = /^\[\[(\d{1,4})\]\]/;
const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

const md = new MarkdownIt({ html: false, linkify: true, typographer: false, breaks: false });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
useMath(md);
md.validateLink = (url) => SAFE_LINK.test(url.trim());

md.inline.ruler.before('link', 'citation', (state, silent) => {
  if (state.src.charCodeAt(state.pos) !== 0x5b) return false;
  const match = MARKER.exec(state.src.slice(state.pos, state.pos + 8));
  if (!match) return false;
  const number = Number(match[1]);
  const env = state.env as unknown as Env;
  if (!env.citations.has(number)) return false;
  if (!silent) {
    const occurrence = (env.seen.get(number) ?? 0) + 1;
    env.seen.set(number, occurrence);
    state.push('citation', '', 0).meta = { number, occurrence };
  }
  state.pos += match[0].length;
  return true;
});

const escape = md.utils.escapeHtml;

md.renderer.rules['citation'] = (tokens, index, _options, given) => {
  const env = given as unknown as Env;
  const { number, occurrence } = tokens[index]?.meta as { number: number; occurrence: number };
  const title = env.citations.get(number)?.document.title ?? '';
  const doubt = env.doubts.get(`${number}:${occurrence}`);
  // The card that shows on hover says more, so there is no title besides.
  const label = `Source ${number}: ${title}${doubt ? `. ${doubtWords(doubt)}` : ''}`;
  const cls = doubt ? `chip chip-${doubt.support}` : 'chip';
  const words = escape(label);
  return `<button type="button" class="${cls}" data-cite="${number}" aria-label="${words}">${number}</button>`;
};

/** Says in words that a source does not carry the claim beside it. */
export function doubtWords(doubt: Doubt): string {
  const fact = doubt.support === 'weak' ? 'The source supports this weakly' : 'The source does not support this';
  return doubt.reason === '' ? `${fact}.` : `${fact}: ${doubt.reason}`;
}

md.renderer.rules['image'] = (tokens, index) => {
  const token = tokens[index];
  const src = String(token?.attrGet('src') ?? '');
  const name = token?.content ? token.content : src;
  if (!SAFE_LINK.test(src)) return escape(name);
  return `<a class="image-link" href="${escape(src)}" target="_blank" rel="noopener noreferrer">Image: ${escape(name)}</a>`;
};

md.renderer.rules['link_open'] = (tokens, index, options, _env, self) => {
  const token = tokens[index];
  token?.attrSet('target', '_blank');
  token?.attrSet('rel', 'noopener noreferrer');
  return self.renderToken(tokens, index, options);
};

// The policy forbids style attributes, so alignment becomes a class.
for (const rule of ['th_open', 'td_open']) {
  md.renderer.rules[rule] = (tokens, index, options, _env, self) => {
    const token = tokens[index];
    const align = /text-align:\s*(left|right|center)/.exec(String(token?.attrGet('style') ?? ''))?.[1];
    if (token && align) {
      token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style');
      token.attrSet('class', `align-${align}`);
    }
    return self.renderToken(tokens, index, options);
  };
}
md.renderer.rules['table_open'] = () =>
  '<div class="table"><button type="button" class="table-copy" data-copy="table">Copy table</button><div class="table-scroll" tabindex="0" role="group" aria-label="Table"><table>';
md.renderer.rules['table_close'] = () => '</table></div></div>';

// The TeX stays as text until the formula is drawn, and where it can't be.
md.renderer.rules['math_inline'] = (tokens, index) => `<span class="math" data-math="inline">${escape(tokens[index]?.content ?? '')}</span>`;
md.renderer.rules['math_block'] = (tokens, index) =>
  `<div class="math-block" data-math="block" tabindex="0" role="group" aria-label="Formula">${escape(tokens[index]?.content ?? '')}</div>\n`;

function code(content: string, info: string, highlight: Highlight): string {
  const given = (info.trim().split(/\s+/)[0] ?? '').slice(0, 40);
  const text = content.replace(/\n$/, '');
  const language = given.toLowerCase();
  const inside = highlight(text, ALIASES.get(language) ?? language) ?? escape(text);
  return (
    `<div class="code"><div class="code-head"><span>${escape(given)}</span>` +
    `<button type="button" data-copy="code">Copy</button></div>` +
    `<pre tabindex="0" role="group" aria-label="Code"><code>${inside}</code></pre></div>`
  );
}
const highlightOf = (env: unknown): Highlight => (env as Env).highlight;
md.renderer.rules['fence'] = (tokens, index, _options, env) => code(tokens[index]?.content ?? '', tokens[index]?.info ?? '', highlightOf(env));
md.renderer.rules['code_block'] = (tokens, index, _options, env) => code(tokens[index]?.content ?? '', '', highlightOf(env));

/** A top-level block as it is drawn, and the line of its source that it begins in, from 0. */
export interface Part {
  html: string;
  line: number;
}

/** What a text is rendered with, beside its own words. */
export interface Context {
  citations: readonly Citation[];
  supports: readonly SupportMark[];
  highlight: Highlight;
}

/** What one part of a text leaves for the next: uses of citations, and link definitions. */
export interface Carried {
  seen: Map<number, number>;
  references: Record<string, unknown>;
}

/**
 * Renders text, a whole or the part of one that begins at a top-level block. whole
 * is what the graded ranges of context count in. carried is changed. The result
 * is null where the text is nested deeper than the parser goes.
 */
export function renderParts(text: string, whole: string, context: Context, carried: Carried): Part[] | null {
  const ours: Env & Pick<Carried, 'references'> = {
    citations: new Map(context.citations.map((c) => [c.number, c])),
    doubts: doubtsOf(whole, context.supports),
    seen: carried.seen,
    references: carried.references,
    highlight: context.highlight,
  };
  // The renderer's own type of env holds only what it adds itself.
  const env = ours as unknown as Parameters<typeof md.parse>[1];
  const tokens = md.parse(text, env);
  if (tokens.some((token) => token.level >= MAX_LEVEL)) return null;
  const parts: Part[] = [];
  let start = 0;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (!token || token.level !== 0 || token.nesting === 1) continue;
    const group = tokens.slice(start, i + 1);
    start = i + 1;
    parts.push({ html: md.renderer.render(group, md.options, env), line: group[0]?.map?.[0] ?? 0 });
  }
  return parts;
}

/**
 * What is nested deeper than the parser goes would be left out. No reader gains
 * from such a shape, so all of it is shown as it was written.
 */
export const renderPlain = (text: string): string[] => [`<p class="plain">${escape(text)}</p>`];

/**
 * Renders text as the HTML of its top-level blocks, one string each. The caller
 * sanitises each before it shows it. While an answer streams only the last ones
 * change, so that what was read and selected stays in place.
 */
export function renderMarkdown(
  text: string,
  citations: readonly Citation[] = [],
  supports: readonly SupportMark[] = [],
  highlight: Highlight = () => null,
): string[] {
  const parts = renderParts(text, text, { citations, supports, highlight }, { seen: new Map(), references: {} });
  return parts?.map((part) => part.html) ?? renderPlain(text);
}

/**
 * Finds which use of a citation each doubt is about: the last one that begins
 * within the graded range or right behind it.
 */
export function doubtsOf(text: string, supports: readonly SupportMark[]): Map<string, Doubt> {
  const doubts = new Map<string, Doubt>();
  const doubted = supports.filter((s) => s.support === 'weak' || s.support === 'absent');
  if (doubted.length === 0) return doubts;
  const points = Array.from(text);
  for (const mark of doubted) {
    const marker = `[[${mark.number}]]`;
    const occurrence = points.slice(0, mark.end + marker.length + 2).join('').split(marker).length - 1;
    if (occurrence > 0 && (mark.support === 'weak' || mark.support === 'absent')) {
      doubts.set(`${mark.number}:${occurrence}`, { support: mark.support, reason: mark.reason, claim: points.slice(mark.start, mark.end).join('') });
    }
  }
  return doubts;
}
