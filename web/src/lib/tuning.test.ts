import { describe, expect, it } from 'vitest';
import { PROVIDERS, tuned as tunedFor, untuned, type Tuning } from './tuning';

const tuned = (name: string, t: Tuning) => tunedFor(PROVIDERS.find((p) => p.name === name) ?? PROVIDERS[0], t);

describe('tuned', () => {
  it('says nothing of what was left alone', () => {
    expect(tuned('openai', untuned())).toEqual({});
  });

  it('says what was set, with numbers as numbers', () => {
    expect(tuned('ollama', { ...untuned(), reasoning: 'no', keep_alive: ' 30m ', max_output_tokens: '4096' })).toEqual({ reasoning: 'no', keep_alive: '30m', max_output_tokens: 4096 });
  });

  it('leaves out what was set for another provider', () => {
    const all = { ...untuned(), api: 'responses', keep_alive: '30m', native_search: true };
    expect(tuned('openai', all)).toEqual({ api: 'responses', native_search: true });
    expect(tuned('ollama', all)).toEqual({ keep_alive: '30m' });
    expect(tuned('anthropic', all)).toEqual({ native_search: true });
    expect(tuned('openai', { ...all, api: '' })).toEqual({});
  });
});
