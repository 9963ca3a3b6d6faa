/**
 * Makes the spellings of a word equal, for comparing only: case, accents, invisible
 * characters, ligatures and full-width forms do not count. The host's index folds
 * words alike, with more that only whole texts need.
 */

/** Letters that Unicode does not take apart. */
const SPELLINGS: Record<string, string> = {
  ß: 'ss', ı: 'i', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ħ: 'h', ς: 'σ', '’': "'", '‘': "'", ʼ: "'", '‐': '-', '–': '-', '—': '-',
  ـ: '', ی: 'ي', ى: 'ي', ک: 'ك', ة: 'ه',
};
const SPELLED = new RegExp(`[${Object.keys(SPELLINGS).join('')}]`, 'gu');
const INVISIBLE = /[\p{Cf}\p{Variation_Selector}\u034f\u115f\u1160\u3164\u17b4\u17b5]/gu;
/** Marks that people leave out, and those of Cyrillic that make another letter. */
const MARKS = /(?<![иу]\p{Mn}*(?=\u0306)|і\p{Mn}*(?=\u0308))(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}]\p{Mn}*)\p{Mn}/gu;

export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(INVISIBLE, '')
    .replace(MARKS, '')
    .replace(SPELLED, (c) => SPELLINGS[c] ?? c)
    .normalize('NFC');
}

/** Tells whether text has every word of a filter somewhere. */
export function matches(filter: string, text: string): boolean {
  const folded = fold(text);
  return fold(filter).split(/\s+/).every((word) => folded.includes(word));
}
