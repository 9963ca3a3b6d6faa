import { fold } from './fold';

/**
 * Finds a passage in the text that it was taken from, and marks it there. Only
 * letters and digits count, however they are spelled: the passage lost its markup and its line ends on the
 * way, and what was left out of it is shown as dots.
 */
const NAME = 'passage';
/** Fewer letters than this are found anywhere and say nothing. */
const LEAST = 12;
/** So many letters of a passage's beginning or end are enough to place it. */
const PART = 60;
/** How far below the top of its scroller a passage comes to stand, in pixels. */
const ABOVE = 96;

interface Letters {
  text: string;
  /** Where each code unit of text stands in the original. */
  at: number[];
}

function letters(text: string): Letters {
  const kept: string[] = [];
  const at: number[] = [];
  let index = 0;
  for (const c of text) {
    const low = fold(c).normalize('NFD').replace(/[^\p{L}\p{N}]/gu, '');
    kept.push(low);
    for (let i = 0; i < low.length; i++) at.push(index);
    index += c.length;
  }
  return { text: kept.join(''), at };
}

/** Where the letter at an index of text ends, with its marks. */
function endOf(text: string, index: number): number {
  return index + (/^.\p{M}*/su.exec(text.slice(index, index + 64))?.[0].length ?? 0);
}

/** Where a passage begins and ends in text, half open, or null where it is not found. */
export function findPassage(text: string, passage: string): [number, number] | null {
  const wanted = letters(passage).text;
  if (wanted.length < LEAST) return null;
  const { text: all, at } = letters(text);
  for (const part of new Set([wanted, wanted.slice(0, PART), wanted.slice(-PART)])) {
    const found = all.indexOf(part);
    if (found < 0) continue;
    const last = at[found + part.length - 1] ?? 0;
    return [at[found] ?? 0, endOf(text, last)];
  }
  return null;
}

/**
 * Where a claim that was written as Markdown stands last in text, half open, or
 * null. What its markup hides when it is drawn does not count.
 */
export function findClaim(text: string, claim: string): [number, number] | null {
  const drawn = claim.replace(/\[\[\d{1,4}\]\]/g, '').replace(/\]\([^)\s]*(?:\s[^)]*)?\)/g, ']');
  const wanted = letters(drawn).text;
  const { text: all, at } = letters(text);
  const found = wanted === '' ? -1 : all.lastIndexOf(wanted);
  if (found < 0) return null;
  const last = at[found + wanted.length - 1] ?? 0;
  return [at[found] ?? 0, endOf(text, last)];
}

/** The range of what find finds in the text of root, up to an element where one is given. */
export function rangeOf(root: HTMLElement, find: (text: string) => [number, number] | null, until?: Element): Range | null {
  const nodes: { node: Text; start: number }[] = [];
  let text = '';
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    // What the page itself wrote, such as the word Copy, is no part of the text.
    if (node.parentElement?.closest('button, .code-head')) continue;
    if (until && until.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) break;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  const found = find(text);
  if (!found) return null;
  const place = (offset: number): { node: Text; start: number } | undefined => nodes.findLast((n) => n.start <= offset);
  const [from, to] = [place(found[0]), place(found[1] - 1)];
  if (!from || !to) return null;
  const range = document.createRange();
  range.setStart(from.node, found[0] - from.start);
  range.setEnd(to.node, found[1] - to.start);
  return range;
}

/** Marks a passage within root and brings it into view. Returns whether it was found. */
export function markPassage(root: HTMLElement, passage: string): boolean {
  const range = rangeOf(root, (text) => findPassage(text, passage));
  if (!range) return false;
  if ('highlights' in CSS) CSS.highlights.set(NAME, new Highlight(range));
  const scroller = root.closest('[data-scroller]');
  if (scroller) scroller.scrollTop += range.getBoundingClientRect().top - scroller.getBoundingClientRect().top - ABOVE;
  return true;
}

/** Takes the mark away. */
export function unmarkPassage(): void {
  if ('highlights' in CSS) CSS.highlights.delete(NAME);
}
