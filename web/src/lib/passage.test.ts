import { describe, expect, it } from 'vitest';
import { findClaim, findPassage } from './passage';

const cut = (text: string, passage: string): string | null => {
  const found = findPassage(text, passage);
  return found && text.slice(...found);
};

describe('a passage', () => {
  it('is found through markup, line ends and the dots of what was left out', () => {
    const text = '# Oil\n\nThe **light** burns\n`colza` oil, 40 litres a night.\n\nMore.';
    expect(cut(text, '… The light burns colza oil, 40 litres …')).toBe('The **light** burns\n`colza` oil, 40 litres');
  });

  it('is placed by its beginning, or its end, where the rest is not there', () => {
    const text = `Before. ${'The lamp is lit at six in the evening and put out at eight in the morning, so says the book. '}After.`;
    expect(cut(text, 'The lamp is lit at six in the evening and put out at eight in the morning, so says the book. Something else follows.')).toMatch(/^The lamp is lit at six/);
    expect(cut(text, 'Something else before it. The lamp is lit at six in the evening and put out at eight in the morning, so says the book.')).toMatch(/so says the book$/);
  });

  it('keeps its place behind letters of two code units and letters that grow in lower case', () => {
    expect(cut('𝒜𝒜 İİ: Die Straße am Meer ist lang.', 'die straße am meer')).toBe('Die Straße am Meer');
    expect(cut('x 漢字の長い文章がここにあります𠮷 y', '漢字の長い文章がここにあります𠮷')).toBe('漢字の長い文章がここにあります𠮷');
  });

  it('is found however its letters are composed, with invisible characters between them', () => {
    expect(cut('x Die Bu\u0308cher sind in Go\u0308ttingen u\u0308', 'Die Bücher sind in Göttingen ü')).toBe('Die Bu\u0308cher sind in Go\u0308ttingen u\u0308');
    expect(cut('Die Woh\u00adnungs\u00adgeber\u200bbestätigung.', 'Wohnungsgeberbestätigung')).toBe('Woh\u00adnungs\u00adgeber\u200bbestätigung');
    expect(cut('학점인정신청은 금요일까지 하세요', '학점인정신청은 금요일까지 하세요'.normalize('NFD'))).toBe('학점인정신청은 금요일까지 하세요');
  });

  it('is not found where it is not, nor where it is too short to say anything', () => {
    expect(cut('The lamp is lit at six.', 'The lamp is put out at eight.')).toBeNull();
    expect(cut('The lamp is lit at six.', 'lamp')).toBeNull();
    expect(cut('The lamp is lit at six.', '…')).toBeNull();
  });
});

describe('a claim', () => {
  const claimed = (drawn: string, claim: string): string | null => {
    const found = findClaim(drawn, claim);
    return found && drawn.slice(...found);
  };

  it('is found last in what was drawn of its Markdown', () => {
    expect(claimed('It burns oil. In June it burns oil', 'it **burns** `oil`')).toBe('it burns oil');
    expect(claimed('By the table of supplies it is less', 'By [the table](https://lights.example/t "Table") of supplies')).toBe('By the table of supplies');
    expect(claimed('It is lit and put out at eight', 'It is lit [[1]] and put out')).toBe('It is lit and put out');
    expect(claimed('Der 𝒜-Turm𝒜', '𝒜-Turm𝒜')).toBe('𝒜-Turm𝒜');
  });

  it('is not found where it was drawn as something else', () => {
    expect(claimed('The height is h(t)=A', 'The height is $\\frac{a}{b}$')).toBeNull();
    expect(claimed('Anything', '…')).toBeNull();
  });
});
