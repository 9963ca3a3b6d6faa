/** The seldom needed settings of a model, as a form holds them and as the host takes them. */
import type { NewModel } from './api';

export type Provider = 'openai' | 'ollama' | 'anthropic';

/** Every setting as its field holds it; '' leaves it to the host. */
export interface Tuning {
  native_tools: string;
  reasoning: string;
  vision: string;
  parallel_tools: string;
  max_output_tokens: string;
  first_token_timeout: string;
  api: string;
  keep_alive: string;
  native_search: boolean;
}

export const untuned = (): Tuning => ({
  native_tools: '', reasoning: '', vision: '', parallel_tools: '', max_output_tokens: '', first_token_timeout: '', api: '', keep_alive: '', native_search: false,
});

/** Whether the provider has a search of its own that a model can be given. */
export const canSearch = (provider: Provider, t: Tuning): boolean => provider === 'anthropic' || (provider === 'openai' && t.api === 'responses');

/** What was set, without what another provider was set to before. */
export function tuned(provider: Provider, t: Tuning): Partial<NewModel> {
  const out: Partial<NewModel> = {};
  for (const name of ['native_tools', 'reasoning', 'vision', 'parallel_tools', 'first_token_timeout'] as const) {
    if (t[name].trim() !== '') out[name] = t[name].trim();
  }
  const most = Math.floor(Number(t.max_output_tokens));
  if (most > 0) out.max_output_tokens = most;
  if (provider === 'openai' && t.api !== '') out.api = t.api;
  if (provider === 'ollama' && t.keep_alive.trim() !== '') out.keep_alive = t.keep_alive.trim();
  if (t.native_search && canSearch(provider, t)) out.native_search = true;
  return out;
}
