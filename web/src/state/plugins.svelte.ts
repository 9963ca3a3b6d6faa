/** The installed plugins, for operators: what each may do, and the tools that wait to be looked at. */
import * as api from '../lib/api';
import { app } from './app.svelte';
import { link } from './link.svelte';
import { tools } from './tools.svelte';

class Plugins {
  items = $state.raw<api.Plugin[]>([]);
  error = $state('');
  /** The plugin whose tools are being accepted. */
  accepting = $state('');

  held = $derived(this.items.filter((p) => (p.held ?? []).length > 0));

  constructor() {
    link.listen({
      open: () => {
        if (app.user?.operator) void this.load();
      },
    });
  }

  async load(): Promise<void> {
    try {
      this.#take(await api.plugins());
    } catch (error) {
      this.error = `What plugins may do can't be shown. ${(error as Error).message}`;
    }
  }

  find(name: string): api.Plugin | undefined {
    return this.items.find((p) => p.name === name);
  }

  /** Offers the held tools of a plugin as they were shown. Where they changed since, the host refuses and they are shown anew. */
  async accept(plugin: api.Plugin): Promise<void> {
    if (plugin.held_digest === undefined) return;
    this.accepting = plugin.name;
    try {
      this.#take(await api.acceptTools(plugin.name, plugin.held_digest));
      await tools.load();
    } catch (error) {
      await this.load();
      this.error = `The tools of ${plugin.name} are not offered yet. ${(error as Error).message}`;
    }
    this.accepting = '';
  }

  #take(reply: { plugins: api.Plugin[] | null }): void {
    this.items = reply.plugins ?? [];
    this.error = '';
  }
}

export const plugins = new Plugins();
