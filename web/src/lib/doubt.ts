/**
 * Underlines the sentence before a chip whose source does not carry it. Ranges
 * of the CSS Custom Highlight API are used, so the text's elements stay as they
 * are; a browser without it still shows the chip.
 */
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

/** Underlines what is doubted within root, and nothing else of it. */
export function underline(root: HTMLElement): void {
  if (!('highlights' in CSS)) return;
  for (const range of owned.get(root) ?? []) CSS.highlights.get(NAME)?.delete(range);
  const ranges = [...root.querySelectorAll('.chip-weak, .chip-absent')].map(sentenceBefore).filter((r) => r !== null);
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
