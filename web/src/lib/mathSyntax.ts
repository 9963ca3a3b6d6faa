/**
 * Where formulas stand in Markdown: $…$, \(…\), and $$…$$ and \[…\] on lines of
 * their own. A price is no formula: an opening $ has no space behind it, a
 * closing one none before it and no digit behind it.
 */
import type MarkdownIt from 'markdown-it';

/** A longer text between two signs is no formula; it also bounds the search. */
const MAX_INLINE = 1000;
const MAX_LINES = 60;
/** How many closing signs are looked at for one that opens. */
const MAX_TRIES = 4;

/** Finds the formula that begins at pos: its TeX and where it ends. */
export function inlineMath(src: string, pos: number): { tex: string; end: number } | null {
  const open = src.startsWith('\\(', pos) ? '\\(' : src.startsWith('$$', pos) ? '$$' : src[pos] === '$' ? '$' : '';
  if (open === '') return null;
  const close = open === '\\(' ? '\\)' : open;
  const from = pos + open.length;
  // A $ with a space behind it opens nothing, whatever follows.
  if (open === '$' && isSpace(src[from])) return null;
  const within = src.slice(from, from + MAX_INLINE);
  let tried = 0;
  for (let at = within.indexOf(close); at >= 0 && tried < MAX_TRIES; at = within.indexOf(close, at + 1), tried++) {
    if (close !== '\\)' && within[at - 1] === '\\') continue;
    if (open === '$' && (isSpace(within[at - 1]) || /\d/.test(within[at + 1] ?? ''))) continue;
    const tex = within.slice(0, at);
    return tex.trim() === '' ? null : { tex, end: from + at + close.length };
  }
  return null;
}

const isSpace = (c: string | undefined): boolean => c === undefined || /\s/.test(c);

/** Adds the rules; the tokens are math_inline and math_block with the TeX as their content. */
export function useMath(md: InstanceType<typeof MarkdownIt>): void {
  md.inline.ruler.before('escape', 'math', (state, silent) => {
    const sign = state.src.charCodeAt(state.pos);
    if (sign !== 0x24 && sign !== 0x5c) return false;
    const found = inlineMath(state.src, state.pos);
    if (!found) return false;
    if (!silent) state.push('math_inline', '', 0).content = found.tex;
    state.pos = found.end;
    return true;
  });
  md.block.ruler.before(
    'fence',
    'math',
    (state, startLine, endLine, silent) => {
      if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false;
      const line = (n: number): string => state.src.slice((state.bMarks[n] ?? 0) + (state.tShift[n] ?? 0), state.eMarks[n]);
      const first = line(startLine).trim();
      const close = first.startsWith('$$') ? '$$' : first.startsWith('\\[') ? '\\]' : '';
      if (close === '') return false;
      const tex: string[] = [];
      const last = Math.min(endLine, startLine + MAX_LINES);
      for (let n = startLine; n < last; n++) {
        const text = n === startLine ? first.slice(2) : line(n).trimEnd();
        if (text.endsWith(close)) {
          tex.push(text.slice(0, -2));
          if (tex.join('').trim() === '') return false;
          if (!silent) {
            state.line = n + 1;
            const token = state.push('math_block', '', 0);
            token.content = tex.join('\n').trim();
            token.map = [startLine, n + 1];
          }
          return true;
        }
        if (text.includes(close)) return false;
        tex.push(text);
      }
      return false;
    },
    { alt: ['paragraph', 'reference', 'blockquote', 'list'] },
  );
}
