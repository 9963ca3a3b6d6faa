/** Going from question to question in the conversation on screen. */

/** The questions, and the index of the one at the top of what is seen, -1 before the first. */
function questions(): { list: HTMLElement[]; at: number } {
  const list = [...document.querySelectorAll<HTMLElement>('[data-question]')];
  const top = list[0]?.closest('[data-scroller]')?.getBoundingClientRect().top ?? 0;
  let at = -1;
  for (const [i, q] of list.entries()) if (q.getBoundingClientRect().top <= top + 24) at = i;
  return { list, at };
}

/** Scrolls to the question before (-1) or after (1) the one at the top, and focuses it. */
export function jump(step: -1 | 1): void {
  const { list, at } = questions();
  const here = list[at];
  const top = here?.closest('[data-scroller]')?.getBoundingClientRect().top ?? 0;
  // Amid a long answer, going back leads to its own question first.
  const begun = here !== undefined && step < 0 && here.getBoundingClientRect().top < top - 24;
  const next = list[Math.max(0, begun ? at : at + step)];
  next?.scrollIntoView({ block: 'start' });
  next?.focus({ preventScroll: true });
}
