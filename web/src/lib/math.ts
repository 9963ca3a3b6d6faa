/**
 * Draws formulas. It is loaded, with its fonts, only when an answer holds one.
 * KaTeX builds elements and sets their styles through the DOM, which the page's
 * policy allows; with trust off it makes no link, loads nothing and runs nothing.
 */
import katex from 'katex';
import 'katex/dist/katex.min.css';

/** Draws the TeX that stands in element, in its place. What is no TeX stays as it was written. */
export function drawMath(element: HTMLElement, display: boolean): void {
  const tex = element.textContent ?? '';
  const drawn = document.createElement('span');
  try {
    katex.render(tex, drawn, { displayMode: display, trust: false, strict: 'ignore', maxSize: 10, maxExpand: 200, throwOnError: true });
  } catch {
    return;
  }
  element.replaceChildren(...drawn.childNodes);
}
