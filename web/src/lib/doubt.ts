/**
 * Underlines the claim before a chip whose source does not carry it: what was
 * graded, or the sentence where that is not found in what is drawn, as within a
 * formula. Ranges of the CSS Custom Highlight API are used, so the text's elements
 * stay as they are; a browser without it still shows the chip.
 */
import { doubtsOf } from './markdown';
import { findClaim, rangeOf } from './passage';
import type { SupportMark } from './run';

const NAME = 'doubt';
const owned = new Map<HTMLElement, Range[]>();

/** The sentence that ends at a chip, within its paragraph. */
export function sentenceBefore(chip: Element): Range | null {
  const block = chip.closest('p, li, td, th, blockquote, h1, h2, h3, h4, h5, h6');
  if (!block) return null;
  const range = document.createRange();
  range.setStart(block, 0);
  range.setEndBefore(chip);
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  let start: { node: Text; offset: number } | null = null;
  let ended = true;
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    if (chip.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING || chip.contains(node)) break;
    if (node.parentElement?.closest('.chip')) continue;
    for (let i = 0; i < node.length; i++) {
      const c = node.data[i] ?? '';
      if (ended && !/\s/.test(c)) {
        start = { node, offset: i };
        ended = false;
      }
      if (/[.!?\u3002\uff01\uff1f]/.test(c) && /^(\s|$)/.test(node.data.slice(i + 1, i + 2)) && !isLast(node, i, chip)) ended = true;
    }
  }
  if (!start) return null;
  range.setStart(start.node, start.offset);
  return range;
}

/** Whether nothing but space stands between this sign and the chip: it ends the sentence meant. */
function isLast(node: Text, offset: number, chip: Element): boolean {
  const rest = document.createRange();
  rest.setStart(node, offset + 1);
  rest.setEndBefore(chip);
  return rest.toString().trim() === '';
}

/** What of a text each doubted chip within root is about. */
function claims(root: HTMLElement, text: string, supports: readonly SupportMark[]): Range[] {
  const doubts = doubtsOf(text, supports);
  if (doubts.size === 0) return [];
  const used = new Map<string, number>();
  const ranges: (Range | null)[] = [];
  for (const chip of root.querySelectorAll<HTMLElement>('.chip[data-cite]')) {
    const number = chip.dataset['cite'] ?? '';
    const occurrence = (used.get(number) ?? 0) + 1;
    used.set(number, occurrence);
    const doubt = doubts.get(`${number}:${occurrence}`);
    if (doubt) ranges.push(rangeOf(root, (drawn) => findClaim(drawn, doubt.claim), chip) ?? sentenceBefore(chip));
  }
  return ranges.filter((r) => r !== null);
}

/** Underlines what is doubted within root, which draws text, and nothing else of it. */
export function underline(root: HTMLElement, text: string, supports: readonly SupportMark[]): void {
  if (!('highlights' in CSS)) return;
  for (const range of owned.get(root) ?? []) CSS.highlights.get(NAME)?.delete(range);
  const ranges = claims(root, text, supports);
  if (ranges.length === 0) {
    owned.delete(root);
    return;
  }
  owned.set(root, ranges);
  const highlight = CSS.highlights.get(NAME) ?? new Highlight();
  for (const range of ranges) highlight.add(range);
  CSS.highlights.set(NAME, highlight);
}

/** Forgets root, which is going. */
export function removeUnderline(root: HTMLElement): void {
  for (const range of owned.get(root) ?? []) CSS.highlights?.get(NAME)?.delete(range);
  owned.delete(root);
}
