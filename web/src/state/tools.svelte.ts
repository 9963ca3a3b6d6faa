/** The tools that the person's questions may use. */
import { RESEARCH } from '../lib/allowed';
import * as api from '../lib/api';
import { link } from './link.svelte';

class Tools {
  items = $state.raw<api.Tool[]>([]);
  loaded = $state(false);
  error = $state('');

  constructor() {
    link.listen({
      open: () => void this.load(),
      event: (event) => {
        if (event.topic === 'plugin' || event.topic === 'grant' || event.change === 'missed') void this.load();
      },
    });
  }

  async load(): Promise<void> {
    try {
      this.items = (await api.tools()).tools ?? [];
      this.error = '';
      this.loaded = true;
    } catch (error) {
      this.error = (error as Error).message;
    }
  }

  titleOf(id: string): string {
    const found = this.items.find((t) => t.id === id);
    return found?.title || found?.name || (id === RESEARCH.id ? RESEARCH.title : id);
  }
}

export const tools = new Tools();
