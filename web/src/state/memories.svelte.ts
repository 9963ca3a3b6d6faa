/** What is remembered about the person. */
import * as api from '../lib/api';
import { link } from './link.svelte';
import { undo } from './undo.svelte';

class Memories {
  items = $state.raw<api.Memory[]>([]);
  loaded = $state(false);
  error = $state('');

  constructor() {
    link.listen({
      open: () => {
        if (this.loaded) void this.load();
      },
      event: (event) => {
        if ((event.topic === 'memory' || event.change === 'missed') && this.loaded) void this.load();
      },
    });
  }

  async load(): Promise<void> {
    try {
      this.items = (await api.memories()).memories ?? [];
      this.error = '';
    } catch (error) {
      this.error = `The memories can't be listed. ${(error as Error).message}`;
    }
    this.loaded = true;
  }

  /** Returns whether the text is kept now. */
  async add(text: string): Promise<boolean> {
    return this.#try('It was not remembered.', async () => {
      const { memory } = await api.addMemory(text);
      this.items = [memory, ...this.items.filter((m) => m.id !== memory.id)];
    });
  }

  async change(id: string, text: string): Promise<boolean> {
    return this.#try('The memory was not changed.', async () => {
      const { memory } = await api.changeMemory(id, text);
      this.items = this.items.map((m) => (m.id === id ? memory : m));
    });
  }

  /** Deletes a memory at once; to undo it is to remember the same text again. */
  async remove(memory: api.Memory): Promise<boolean> {
    return this.#try('The memory was not deleted.', async () => {
      await api.removeMemory(memory.id);
      this.items = this.items.filter((m) => m.id !== memory.id);
      undo.offer({ words: 'Memory deleted.', commit: () => undefined, revert: () => void this.add(memory.text) });
    });
  }

  async #try(failed: string, action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      this.error = '';
      return true;
    } catch (error) {
      this.error = `${failed} ${(error as Error).message}`;
      return false;
    }
  }
}

export const memories = new Memories();
