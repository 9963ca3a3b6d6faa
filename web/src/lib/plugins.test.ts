import { describe, expect, it } from 'vitest';
import { difference, rights } from './plugins';

describe('what a plugin may do', () => {
  it('is told by how it was decided, in the words of the grant', () => {
    expect(
      rights('open_url', [
        { capability: 'http', mode: 'ask', summary: 'open_url wants to read pages on any website.' },
        { capability: 'context', mode: 'allow', summary: 'open_url wants to know parts of your conversation.' },
        { capability: 'odd', mode: 'allow', summary: 'Something else.' },
      ]),
    ).toEqual([
      { words: 'It may', what: ['know parts of your conversation', 'Something else.'] },
      { words: 'It asks before it may', what: ['read pages on any website'] },
    ]);
  });
});

describe('a tool that is held', () => {
  const seen = { name: 'a', description: 'Looks.', input_schema: { type: 'object' } };

  it('is new, or says what of it differs', () => {
    expect(difference(seen)).toEqual(['new']);
    expect(difference({ ...seen, before: seen })).toEqual([]);
    expect(difference({ ...seen, title: 'A', description: 'Looks, and sends it.', input_schema: { type: 'object', required: ['to'] }, output_schema: {}, before: seen })).toEqual([
      'title', 'description', 'arguments', 'form of its answer',
    ]);
  });
});
