/** The list of conversations. */
import * as api from '../lib/api';
import { drafts } from './draft';
import { link } from './link.svelte';

class Sessions {
  items = $state.raw<api.Session[]>([]);
  more = $state(false);
  loaded = $state(false);
  error = $state('');
  filter = $state('');

  shown = $derived.by(() => {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    return this.items.filter((s) => words.every((w) => s.title.toLowerCase().includes(w)));
  });

  constructor() {
    link.listen({
      open: () => void this.load(),
      event: (event) => {
        if (event.topic === 'session' || event.topic === 'run') void this.load();
      },
    });
  }

  /** Fetches the newest anew; older ones that were loaded stay. */
  async load(): Promise<void> {
    try {
      const page = await api.sessions();
      const fresh = page.sessions ?? [];
      const last = fresh.at(-1);
      const kept = page.more && last ? this.items.slice(this.items.findIndex((s) => s.id === last.id) + 1) : [];
      const known = new Set(fresh.map((s) => s.id));
      const older = this.items.some((s) => s.id === last?.id) ? kept.filter((s) => !known.has(s.id)) : [];
      this.items = [...fresh, ...older];
      if (older.length === 0) this.more = page.more;
      this.error = '';
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  async loadMore(): Promise<void> {
    const last = this.items.at(-1);
    if (!last) return;
    try {
      const page = await api.sessions(last.id);
      const known = new Set(this.items.map((s) => s.id));
      this.items = [...this.items, ...(page.sessions ?? []).filter((s) => !known.has(s.id))];
      this.more = page.more;
    } catch (error) {
      this.error = (error as Error).message;
    }
  }

  async rename(id: string, title: string): Promise<void> {
    const before = this.items;
    this.items = before.map((s) => (s.id === id ? { ...s, title } : s));
    try {
      await api.renameSession(id, title);
      this.error = '';
    } catch (error) {
      this.items = before;
      this.error = `The name was not changed. ${(error as Error).message}`;
    }
  }

  /** Removes a conversation for good. Returns whether it is gone. */
  async remove(id: string): Promise<boolean> {
    try {
      await api.deleteSession(id);
    } catch (error) {
      this.error = `The conversation was not deleted. ${(error as Error).message}`;
      return false;
    }
    this.items = this.items.filter((s) => s.id !== id);
    drafts.store(id, '');
    this.error = '';
    return true;
  }
}

export const sessions = new Sessions();
