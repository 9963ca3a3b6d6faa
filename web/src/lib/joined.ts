/**
 * An answer that was written in several runs, as one: each later run goes on
 * where the one before it ended. What did not change between two calls is the
 * same object in both results, so that only what grew is drawn again.
 */
import type { Answer, Block, Citation, Held, Run, TextBlock } from './run';

/** Tells what the later runs of an answer, oldest first, made of it. A run that is not known yet adds nothing. */
export function joined(first: Answer, later: readonly (Run | undefined)[]): Answer {
  let whole = first;
  for (const run of later) {
    const more = run?.answers.find((a) => a.messageId === first.messageId);
    if (run && more) whole = join(whole, more, run.id);
  }
  return whole;
}

function join(before: Answer, more: Answer, run: string): Answer {
  return {
    ...before,
    blocks: joinBlocks(before.blocks, more.blocks, run),
    citations: joinCitations(before.citations, more.citations),
    error: more.error,
    inputTokens: before.inputTokens + more.inputTokens,
    outputTokens: before.outputTokens + more.outputTokens,
    stop: more.stop,
  };
}

function joinBlocks(before: readonly Block[], more: readonly Block[], run: string): Block[] {
  // That it was cut off is true no longer.
  const kept = before.filter((b) => b.kind !== 'notice' || b.code !== 'cut_off');
  const last = kept.at(-1);
  const offset = (last?.turn ?? -1) + 1;
  const [next, ...rest] = more;
  const moved = rest.map((b) => move(b, offset, run));
  if (!next) return kept;
  if (last?.kind !== 'text' || next.kind !== 'text') return [...kept, move(next, offset, run), ...moved];
  return [...kept.slice(0, -1), grow(last, next), ...moved];
}

const movedBlocks = new WeakMap<Block, Block>();

/** Gives a block of a later run its place behind what is there. */
function move(block: Block, offset: number, run: string): Block {
  const turn = block.turn + offset;
  const known = movedBlocks.get(block);
  if (known?.turn === turn) return known;
  const moved = { ...block, turn, key: `${run}.${block.key}` };
  movedBlocks.set(block, moved);
  return moved;
}

const grownTexts = new WeakMap<TextBlock, { before: TextBlock; whole: TextBlock }>();

/** One text that ended anywhere, in a word too, with what goes on with it. */
function grow(before: TextBlock, more: TextBlock): TextBlock {
  const known = grownTexts.get(more);
  if (known?.before === before) return known.whole;
  const length = Array.from(before.text).length;
  const supports = more.supports.map((s) => ({ ...s, start: s.start + length, end: s.end + length }));
  const whole = { ...before, text: before.text + more.text, supports: [...before.supports, ...supports], done: more.done };
  grownTexts.set(more, { before, whole });
  return whole;
}

const joinedCitations = new WeakMap<Citation[], { before: Citation[]; all: Citation[] }>();

/** A later run announces the earlier documents once more; they count once. */
function joinCitations(before: Citation[], more: Citation[]): Citation[] {
  const known = joinedCitations.get(more);
  if (known?.before === before) return known.all;
  const fresh = more.filter((c) => !before.some((b) => b.number === c.number));
  const all = fresh.length === 0 ? before : [...before, ...fresh];
  joinedCitations.set(more, { before, all });
  return all;
}

/** Whether the answer ended before it was complete and has something to go on with. */
export function canGoOn(answer: Answer): boolean {
  if (answer.stop === null) return false;
  const wrote = answer.blocks.some((b) => b.kind === 'tool' || (b.kind === 'text' && b.text !== ''));
  if (answer.stop === 'user_cancelled' || answer.stop === 'interrupted') return wrote;
  if (answer.stop === 'error') return wrote && answer.error?.retryable === true;
  const last = answer.blocks.at(-1);
  return last?.kind === 'notice' && last.code === 'cut_off';
}

/** Says how the calls stand that were held back in an answer that one of several models gave. */
export function withHeld(answer: Answer, held: Held): Answer {
  const isHeld = (b: Block): boolean => b.kind === 'tool' && b.held !== '';
  if (!answer.blocks.some(isHeld)) return answer;
  return { ...answer, blocks: answer.blocks.map((b) => (b.kind === 'tool' && isHeld(b) ? { ...b, held } : b)) };
}
