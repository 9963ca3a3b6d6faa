/** Whom the next question goes to: the agent, the models, and the tools that they may use. */
import type { Recipients } from '../lib/packets';
import { allowList, available, beyond, idOf, RESEARCH } from '../lib/allowed';
import { agents } from './agents.svelte';
import { app } from './app.svelte';
import { conversation } from './conversation.svelte';
import { tools } from './tools.svelte';

const MODELS_KEY = 'bulkhead.models';
const OFF_KEY = 'bulkhead.tools-off';
const ON_KEY = 'bulkhead.tools-on';
/** Of so many conversations it is kept which tools are off. */
const MAX_KEPT = 100;

class Asking {
  /** Names of the picked models; empty is the default one. */
  #picked = $state.raw<string[]>(stored(MODELS_KEY, []));
  /** The models picked in place of an agent's own, by the agent's id. */
  #instead = $state.raw<Record<string, string[]>>({});
  /** The agent that was chosen for the next question, by conversation; '' in it is none. */
  #choices = $state.raw<Record<string, string>>({});
  /** The tools that are switched off, by conversation: identities, or names that were kept before there were any. */
  #off = $state.raw<Record<string, string[]>>(stored(OFF_KEY, {}));
  /** The tools that are on though they are not there by themselves, by conversation. */
  #on = $state.raw<Record<string, string[]>>(stored(ON_KEY, {}));
  /** The tool that the next question has to use first, and the conversation that this was said in. */
  #forced = $state.raw({ session: '', tool: '' });

  /** The agent that was asked last on the path that is shown, '' for none. */
  #asked = $derived.by(() => {
    const { pending, sessionId, turns } = conversation;
    const here = pending !== null && (pending.session_id ?? '') === sessionId;
    return (here ? pending.agent_id : turns.at(-1)?.question.agent_id) ?? '';
  });
  agent = $derived(agents.find(this.#choices[conversation.sessionId] ?? this.#asked));
  /** The agent that was asked last is not there any more, and no other was chosen. */
  removed = $derived(agents.loaded && this.#choices[conversation.sessionId] === undefined && this.#asked !== '' && !this.agent);

  /** The picked models that are there; empty leaves it to the agent, or is the default one. */
  #picks = $derived.by(() => this.#picksFor(this.agent?.id ?? ''));
  /** The models that the next question goes to. */
  chosen = $derived.by(() => {
    if (this.#picks.length > 0) return this.#picks;
    const own = this.agent?.model ?? '';
    if (app.models.some((m) => m.name === own)) return [own];
    return app.defaultModel === '' ? [] : [app.defaultModel];
  });
  extractive = $derived(this.chosen.length > 0 && this.chosen.every((n) => app.models.find((m) => m.name === n)?.provider === 'extractive'));

  /** The tools that there are for the next question, and those of them that are off. */
  tools = $derived(available(tools.items, this.agent, conversation.private));
  off = $derived<ReadonlySet<string>>(new Set(this.#ids(this.#off[conversation.sessionId])));
  forced = $derived(this.#forced.session === conversation.sessionId && this.tools.some((t) => t.id === this.#forced.tool) ? this.#forced.tool : '');

  /** Whether research may be switched on, and whether it is. */
  mayResearch = $derived(!this.agent || this.agent.tools === null || this.agent.tools.includes(RESEARCH.id));
  researches = $derived.by(() => {
    if (!this.mayResearch) return false;
    const named = beyond(tools.items, this.agent).includes(RESEARCH.id);
    return named ? !this.off.has(RESEARCH.id) : this.#ids(this.#on[conversation.sessionId]).includes(RESEARCH.id);
  });

  constructor() {
    conversation.onAccepted = (before, session) => this.#settled(before, session);
  }

  /** Chooses the agent of the next question, '' for none. */
  choose(id: string): void {
    this.#choices = { ...this.#choices, [conversation.sessionId]: id };
  }

  /** Picks models: for all questions, or in place of those of the agent that is chosen. */
  pick(names: string[]): void {
    const { agent } = this;
    if (agent?.model) {
      const own = names.length === 1 && names[0] === agent.model;
      this.#instead = { ...this.#instead, [agent.id]: own ? [] : names };
    } else {
      this.#picked = names;
      localStorage.setItem(MODELS_KEY, JSON.stringify(names));
    }
  }

  /** Switches tools on or off in this conversation. */
  allow(ids: readonly string[], on: boolean): void {
    const others = [...this.off].filter((id) => !ids.includes(id));
    this.#keepOff(conversation.sessionId, on ? others : [...others, ...ids]);
    if (!on && ids.includes(this.forced)) this.force('');
  }

  /** Lets the model hand tasks to agents in this conversation, or not. */
  research(on: boolean): void {
    this.allow([RESEARCH.id], on);
    this.#on = kept(this.#on, conversation.sessionId, on ? [RESEARCH.id] : [], ON_KEY);
  }

  /** Says which tool the next question has to use first, '' for none. It is switched on for that. */
  force(tool: string): void {
    if (tool !== '') this.allow([tool], true);
    this.#forced = { session: conversation.sessionId, tool };
  }

  /** Tells whether a question can say which tools it leaves out. */
  async ready(): Promise<boolean> {
    if ((this.off.size > 0 || this.researches) && !tools.loaded) await tools.load();
    return (this.off.size === 0 && !this.researches) || tools.loaded;
  }

  /** What goes with a question: to the agent that is chosen, or to the one that an earlier question was asked of. */
  recipients(earlier?: string): Recipients {
    const agent = this.#choices[conversation.sessionId] === undefined && earlier !== undefined ? agents.find(earlier) : this.agent;
    const to: Recipients = {};
    if (agent) to.agent_id = agent.id;
    const models = this.#picksFor(agent?.id ?? '');
    if (models.length > 0) to.models = models;
    const there = [...available(tools.items, agent, conversation.private).map((t) => t.id), ...beyond(tools.items, agent)];
    const more = !agent || agent.tools === null ? this.#ids(this.#on[conversation.sessionId]) : [];
    const allowed = allowList(there, this.off, more);
    if (allowed) to.tools = allowed;
    if (this.forced !== '') to.forced_tool = this.forced;
    return to;
  }

  /** The models that answer again: those that were picked, else whoever answered before. */
  get again(): string[] {
    return this.#picks;
  }

  #picksFor(agent: string): string[] {
    const picks = agents.find(agent)?.model ? (this.#instead[agent] ?? []) : this.#picked;
    return picks.filter((name) => app.models.some((m) => m.name === name));
  }

  /** A question was taken: what was said for it alone is done, and a new conversation keeps what was said before it had an id. */
  #settled(before: string, session: string): void {
    const { [before]: _, ...choices } = this.#choices;
    this.#choices = choices;
    if (this.#forced.session === before) this.#forced = { session: '', tool: '' };
    if (before === session) return;
    const [off, on] = [this.#off[before] ?? [], this.#on[before] ?? []];
    if (off.length > 0) {
      this.#keepOff(session, off);
      this.#keepOff(before, []);
    }
    if (on.length > 0) this.#on = kept(kept(this.#on, session, on, ON_KEY), before, [], ON_KEY);
  }

  #ids(words: readonly string[] | undefined): string[] {
    return (words ?? []).map((word) => idOf(tools.items, word));
  }

  #keepOff(session: string, names: readonly string[]): void {
    this.#off = kept(this.#off, session, names, OFF_KEY);
  }
}

/** What is kept by conversation, with other names for one of them; the newest stay. */
function kept(all: Record<string, string[]>, session: string, names: readonly string[], key: string): Record<string, string[]> {
  const { [session]: _, ...others } = all;
  const rest = Object.entries(others).slice(1 - MAX_KEPT);
  const next = Object.fromEntries(names.length > 0 ? [...rest, [session, [...names]]] : rest);
  localStorage.setItem(key, JSON.stringify(next));
  return next;
}

/** Reads what was kept, of the same shape as without. */
function stored<T extends object>(key: string, without: T): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    if (Array.isArray(value) !== Array.isArray(without) || typeof value !== 'object' || value === null) return without;
    const isList = (v: unknown): boolean => Array.isArray(v) && v.every((s) => typeof s === 'string');
    return (Array.isArray(value) ? isList(value) : Object.values(value).every(isList)) ? (value as T) : without;
  } catch {
    return without;
  }
}

export const asking = new Asking();
