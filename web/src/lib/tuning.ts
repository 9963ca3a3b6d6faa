/** The seldom needed settings of a model, as a form holds them and as the host takes them. */
import type { NewModel } from './api';
import providers from './providers.json';

/** What the host says of a provider; the list is generated from its table. */
export interface Provider {
  name: string;
  title: string;
  /** Its usual address; each of its servers has its own where there is none. */
  base_url?: string;
  example_url: string;
  example_model: string;
  wants_key: boolean;
  /** The settings that only some providers take; api is the interface that one needs. */
  settings: { name: string; api?: string }[];
}

export const PROVIDERS: readonly [Provider, ...Provider[]] = providers as [Provider, ...Provider[]];

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

/** Whether the provider takes a setting that not all of them take, with what else is set. */
export const takes = (provider: Provider, setting: 'api' | 'keep_alive' | 'native_search', t: Tuning): boolean =>
  provider.settings.some((s) => s.name === setting && (s.api === undefined || s.api === t.api));

/** What was set, without what another provider was set to before. */
export function tuned(provider: Provider, t: Tuning): Partial<NewModel> {
  const out: Partial<NewModel> = {};
  for (const name of ['native_tools', 'reasoning', 'vision', 'parallel_tools', 'first_token_timeout'] as const) {
    if (t[name].trim() !== '') out[name] = t[name].trim();
  }
  const most = Math.floor(Number(t.max_output_tokens));
  if (most > 0) out.max_output_tokens = most;
  if (takes(provider, 'api', t) && t.api !== '') out.api = t.api;
  if (takes(provider, 'keep_alive', t) && t.keep_alive.trim() !== '') out.keep_alive = t.keep_alive.trim();
  if (t.native_search && takes(provider, 'native_search', t)) out.native_search = true;
  return out;
}
