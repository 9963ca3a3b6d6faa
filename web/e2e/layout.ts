/** What must hold of every screen at every width, measured in the page itself. */
import type { Page } from '@playwright/test';

/** The least height and width of what a finger hits, in pixels. */
const FINGER = 40;
/** The least contrast of text. */
export const CONTRAST = 4.5;

/**
 * Says what is wrong with the screen as it is laid out now: something wider than
 * its place, controls that lie on one another, words that are cut off and, for
 * a finger, targets that are too small. Empty where nothing is.
 */
export function layoutFaults(page: Page, finger: boolean): Promise<string[]> {
  return page.evaluate(
    ({ finger, least }) => {
      interface Box {
        left: number;
        top: number;
        right: number;
        bottom: number;
      }
      const faults: string[] = [];
      const name = (e: Element): string => {
        const words = e.getAttribute('aria-label') ?? (e.textContent ?? '').trim().replace(/\s+/g, ' ');
        return `${e.tagName.toLowerCase()}${e.classList.length > 0 ? `.${e.classList[0]}` : ''} "${words.slice(0, 40)}"`;
      };
      const meet = (a: Box, b: Box): Box => ({
        left: Math.max(a.left, b.left),
        top: Math.max(a.top, b.top),
        right: Math.min(a.right, b.right),
        bottom: Math.min(a.bottom, b.bottom),
      });
      /** What of an element is seen: not what its scrolling or clipping ancestors hide. */
      const seen = (e: Element): Box => {
        let box: Box = meet(e.getBoundingClientRect(), { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
        for (let p = e.parentElement; p && getComputedStyle(p).position !== 'fixed'; p = p.parentElement) {
          if (getComputedStyle(p).overflow !== 'visible') box = meet(box, p.getBoundingClientRect());
        }
        return box;
      };
      const wide = (b: Box): boolean => b.right - b.left > 1.5 && b.bottom - b.top > 1.5;
      const top = document.querySelector('dialog[open]') ?? document.body;
      const there = (e: Element): boolean =>
        e.checkVisibility({ visibilityProperty: true }) && !e.closest('[inert], .visually-hidden, .skip') && e.getBoundingClientRect().width > 0;

      // Nothing is wider than its place.
      if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways');
      for (const e of top.querySelectorAll('*')) {
        const style = getComputedStyle(e);
        const scrollsDown = /auto|scroll/.test(style.overflowY) && style.overflowX !== 'visible' && e.scrollHeight > e.clientHeight + 1;
        if (there(e) && scrollsDown && !e.matches('textarea, pre') && e.scrollWidth > e.clientWidth + 1) faults.push(`${name(e)} scrolls sideways`);
      }

      const controls = [...top.querySelectorAll('button, a[href], input:not([type=file]), textarea, select, [role=tab]')].filter(there);
      const shownOf = new Map(controls.map((e) => [e, seen(e)]));
      const nowhere: Box = { left: 0, top: 0, right: 0, bottom: 0 };
      for (const e of controls) {
        const box = e.getBoundingClientRect();
        const shown = shownOf.get(e) ?? nowhere;
        const sideways = e.closest('.tabs, .table-scroll, pre, .math-block');
        if (!sideways && wide(shown) && (box.left < -1 || box.right > innerWidth + 1)) faults.push(`${name(e)} reaches beyond the screen`);
        if (e.matches('.button') && e.scrollWidth > e.clientWidth + 1) faults.push(`${name(e)} is cut off`);
      }

      // Controls of one layer do not lie on one another.
      const layer = (e: Element): Element | null => e.closest('dialog, aside, .menu, .place');
      const inView = controls.filter((e) => wide(shownOf.get(e) ?? nowhere));
      for (const [i, a] of inView.entries()) {
        for (const b of inView.slice(i + 1)) {
          if (!wide(meet(shownOf.get(a) ?? nowhere, shownOf.get(b) ?? nowhere))) continue;
          if (!a.contains(b) && !b.contains(a) && layer(a) === layer(b)) faults.push(`${name(a)} and ${name(b)} overlap`);
        }
      }

      // A finger needs room; a link in running text is as high as its line.
      for (const e of finger ? controls : []) {
        const style = getComputedStyle(e);
        if (e.matches('a') && style.display === 'inline') continue;
        const target = e.matches('input[type=checkbox], input[type=radio]') ? (e.closest('label') ?? e) : e;
        const box = target.getBoundingClientRect();
        const after = getComputedStyle(target, '::after');
        const grown = after.content !== 'none' && after.position === 'absolute' ? -2 * parseFloat(after.top) : 0;
        const [width, height] = [box.width + grown, box.height + grown].map((n) => Math.round(n)) as [number, number];
        if (width < least || height < least) faults.push(`${name(e)} is ${width} × ${height} for a finger`);
      }
      return [...new Set(faults)];
    },
    { finger, least: FINGER },
  );
}

/** The smallest contrast of text that is seen against what lies behind it. */
export function lowestContrast(page: Page): Promise<{ ratio: number; text: string }> {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    if (!canvas) throw new Error('no canvas');
    const context = canvas;
    const known = new Map<string, number>();
    const flatten = (colours: string[]): number => {
      const key = colours.join('|');
      const before = known.get(key);
      if (before !== undefined) return before;
      context.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
      }
      const channel = (v: number): number => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const [r = 0, g = 0, b = 0] = Array.from(context.getImageData(0, 0, 1, 1).data, (v) => channel(v / 255));
      const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
      known.set(key, light);
      return light;
    };
    const behind = (element: Element | null): string[] => {
      const stack: string[] = [];
      for (let e = element; e; e = e.parentElement) {
        const ground = getComputedStyle(e).backgroundColor;
        if (ground !== 'rgba(0, 0, 0, 0)') stack.unshift(ground);
      }
      return stack;
    };
    let lowest = { ratio: 21, text: '' };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent?.trim() ?? '';
      if (!element || text === '' || !element.checkVisibility({ visibilityProperty: true }) || element.closest('.visually-hidden, :disabled')) continue;
      const ground = behind(element);
      const a = flatten([...ground, getComputedStyle(element).color]);
      const b = flatten(ground);
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < lowest.ratio) lowest = { ratio, text };
    }
    return lowest;
  });
}
