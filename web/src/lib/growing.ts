/**
 * Markdown that grows at its end, as an answer does while it is written. What
 * lies far enough behind the end can't change any more and is not parsed again,
 * so that a long answer costs no more for each piece than a short one.
 */
import { renderMarkdown, renderParts, renderPlain, type Carried, type Context } from './markdown';

/**
 * How many lines behind the end a block must lie before it counts as settled. A
 * formula is the longest thing that a later line can still make of earlier
 * ones, and spans 60 lines.
 */
const BEHIND = 64;

const nothing = (): Carried => ({ seen: new Map(), references: {} });
const copy = (c: Carried): Carried => ({ seen: new Map(c.seen), references: { ...c.references } });

/** Where line n of text begins. */
function lineStart(text: string, n: number): number {
  let at = 0;
  for (; n > 0; n--) at = text.indexOf('\n', at) + 1;
  return at;
}

function lines(text: string): number {
  let n = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n++;
  return n;
}

export class GrowingMarkdown {
  /** The text that is settled, its blocks, and what it leaves for the rest. */
  #source = '';
  #blocks: string[] = [];
  #carried = nothing();
  /** The link definitions that the settled blocks were rendered with. */
  #defined = '{}';
  /** What the settled blocks were rendered with besides. */
  #context: Context = { citations: [], supports: [], highlight: () => null };
  #version = 0;

  /**
   * Renders text as renderMarkdown does. version tells of changes to what the
   * context draws with, such as the colours of code; a later citation does
   * not reach what is settled, since its number is announced before it is used.
   */
  render(text: string, context: Context, version = 0): string[] {
    const graded = context.supports.length !== this.#context.supports.length;
    if (graded || version !== this.#version || !text.startsWith(this.#source)) this.#forget();
    this.#context = context;
    this.#version = version;
    // Other line ends would have to be counted as the parser counts them.
    if (text.includes('\r')) return renderMarkdown(text, context.citations, context.supports, context.highlight);

    const rest = text.slice(this.#source.length);
    const carried = copy(this.#carried);
    const parts = renderParts(rest, text, context, carried);
    if (!parts) {
      this.#forget();
      return renderPlain(text);
    }
    // A definition can stand behind the links that it completes.
    const defined = JSON.stringify(carried.references);
    if (defined !== this.#defined) {
      const begun = this.#source !== '';
      this.#forget();
      this.#defined = defined;
      if (begun) return this.#again(text, context, defined);
    }
    const all = [...this.#blocks, ...parts.map((p) => p.html)];
    const limit = lines(rest) - BEHIND;
    const settled = limit <= 0 ? -1 : parts.findLastIndex((p) => p.line <= limit);
    if (settled > 0) this.#settle(rest.slice(0, lineStart(rest, parts[settled]?.line ?? 0)), text, context);
    return all;
  }

  /** Renders the whole with the definitions that have come; nothing is settled yet. */
  #again(text: string, context: Context, defined: string): string[] {
    const parts = renderParts(text, text, context, nothing());
    this.#defined = defined;
    return parts?.map((p) => p.html) ?? renderPlain(text);
  }

  /** Adds source, which begins where the settled text ends, to it. */
  #settle(source: string, text: string, context: Context): void {
    const own = copy(this.#carried);
    let parts = renderParts(source, text, context, own);
    // Links may be completed by a definition that is not settled itself.
    if (JSON.stringify(own.references) !== this.#defined) {
      const references = JSON.parse(this.#defined) as Record<string, unknown>;
      parts = renderParts(source, text, context, { seen: copy(this.#carried).seen, references });
    }
    if (!parts) return;
    this.#blocks = [...this.#blocks, ...parts.map((p) => p.html)];
    this.#source += source;
    this.#carried = own;
  }

  #forget(): void {
    this.#source = '';
    this.#blocks = [];
    this.#carried = nothing();
    this.#defined = '{}';
  }
}
