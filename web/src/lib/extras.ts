/**
 * What only some answers need, the colours of code and the drawing of formulas,
 * fetched from the host when an answer first needs it.
 */
import type { Highlight } from './markdown';

type DrawMath = (element: HTMLElement, display: boolean) => void;

/** How many coloured pieces of code are remembered. */
const KEPT = 200;

let highlighter: Highlight | null = null;
let drawMath: DrawMath | null = null;
const coloured = new Map<string, string | null>();
const asked = new Set<string>();
const waiting = new Set<() => void>();

/** Calls back when something that was missing has come. Returns how to end that. */
export function onExtras(again: () => void): () => void {
  waiting.add(again);
  return () => waiting.delete(again);
}

function fetchOnce(name: string, load: () => Promise<void>): void {
  if (asked.has(name)) return;
  asked.add(name);
  load().then(
    () => waiting.forEach((again) => again()),
    // Without it the text stands as it is; the next answer tries again.
    () => asked.delete(name),
  );
}

/** Colours code, or asks for the means to and leaves it plain for now. */
export const colour: Highlight = (code, language) => {
  if (language === '') return null;
  if (!highlighter) {
    fetchOnce('highlight', async () => {
      highlighter = (await import('./highlight')).highlight;
    });
    return null;
  }
  const key = `${language}\n${code}`;
  let html = coloured.get(key);
  if (html === undefined) {
    html = highlighter(code, language);
    if (coloured.size >= KEPT) coloured.delete(coloured.keys().next().value as string);
    coloured.set(key, html);
  }
  return html;
};

/** Draws the formulas within root that are not drawn yet. */
export function drawFormulas(root: HTMLElement): void {
  const found = root.querySelectorAll<HTMLElement>('[data-math]');
  if (found.length === 0) return;
  if (!drawMath) {
    fetchOnce('math', async () => {
      drawMath = (await import('./math')).drawMath;
    });
    return;
  }
  for (const element of found) {
    const display = element.dataset['math'] === 'block';
    delete element.dataset['math'];
    drawMath(element, display);
  }
}
