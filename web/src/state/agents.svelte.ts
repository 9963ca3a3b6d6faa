/** The agents that there are, and the one that is being written. */
import { changes, draftOf, emptyDraft, type AgentDraft } from '../lib/agent';
import * as api from '../lib/api';
import { link } from './link.svelte';
import { undo } from './undo.svelte';

class Agents {
  /** All that were not just deleted, by name. */
  items = $derived.by(() => this.#all.filter((a) => !this.#hidden.has(a.id)));
  loaded = $state(false);
  error = $state('');
  /** What is written in the form, null while none is open. It outlives the place, so that a look elsewhere loses nothing. */
  draft = $state<AgentDraft | null>(null);
  dirty = $derived.by(() => this.draft !== null && Object.keys(changes(this.draft, this.#before)).length > 0);
  #all = $state.raw<api.Agent[]>([]);
  #hidden = $state.raw<ReadonlySet<string>>(new Set());
  /** What the form began with. */
  #before = $state.raw<AgentDraft>(emptyDraft());

  constructor() {
    link.listen({
      open: () => void this.load(),
      event: (event) => {
        if (event.topic === 'agent' || event.change === 'missed') void this.load();
      },
    });
    addEventListener('beforeunload', (event) => {
      if (this.dirty) event.preventDefault();
    });
  }

  async load(): Promise<void> {
    try {
      this.#all = (await api.agents()).agents ?? [];
      this.error = '';
      this.loaded = true;
    } catch (error) {
      this.error = `The agents can't be listed. ${(error as Error).message}`;
    }
  }

  find(id: string): api.Agent | undefined {
    return this.items.find((a) => a.id === id);
  }

  /** What an answer's line calls its agent, '' for none. */
  nameOf(id: string | undefined): string {
    if (!id) return '';
    return this.#all.find((a) => a.id === id)?.name ?? (this.loaded ? 'an agent that was removed' : '');
  }

  /** Opens the form: for a new agent, or for one that there is. What was being written can be brought back. */
  edit(agent?: api.Agent): void {
    if (this.dirty) this.drop();
    this.#before = agent ? draftOf(agent) : emptyDraft();
    this.draft = { ...this.#before, tools: [...this.#before.tools] };
  }

  /** Closes the form; what was written in it can be brought back for some seconds. */
  drop(): void {
    const [draft, before, dirty] = [$state.snapshot(this.draft), this.#before, this.dirty];
    this.draft = null;
    if (!draft || !dirty) return;
    undo.offer({
      words: draft.id === '' ? 'The new agent was not added.' : `The changes of ${before.name} were dropped.`,
      commit: () => undefined,
      revert: () => {
        this.#before = before;
        this.draft = draft;
      },
    });
  }

  /** Keeps what is written and closes the form; throws what the host refused. */
  async save(): Promise<void> {
    const draft = $state.snapshot(this.draft);
    if (!draft) return;
    const changed = changes(draft, this.#before);
    const { agent } = draft.id === '' ? await api.addAgent(changed) : await api.changeAgent(draft.id, changed);
    this.#all = [...this.#all.filter((a) => a.id !== agent.id), agent].sort((a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase()));
    this.draft = null;
  }

  /** Deletes an agent; for some seconds it can be taken back. */
  remove(agent: api.Agent): void {
    const show = (): void => {
      this.#hidden = new Set([...this.#hidden].filter((h) => h !== agent.id));
    };
    this.#hidden = new Set([...this.#hidden, agent.id]);
    undo.offer({
      words: `Deleted “${agent.name}”`,
      commit: (atLast) => {
        if (atLast) api.removeAgentAtLast(agent.id);
        else void this.#delete(agent).finally(show);
      },
      revert: show,
    });
  }

  async #delete(agent: api.Agent): Promise<void> {
    try {
      await api.removeAgent(agent.id);
      this.error = '';
    } catch (error) {
      if (!(error instanceof api.Failure && error.code === 'unknown_agent')) {
        this.error = `${agent.name} was not deleted. ${(error as Error).message}`;
        return;
      }
    }
    this.#all = this.#all.filter((a) => a.id !== agent.id);
  }
}

export const agents = new Agents();
