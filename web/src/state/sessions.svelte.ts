/** The list of conversations. */
import { matches } from '../lib/fold';
import * as api from '../lib/api';
import { drafts } from './draft';
import { byDay } from '../lib/dates';
import { link } from './link.svelte';
import { undo } from './undo.svelte';

const UNREAD_KEY = 'bulkhead.unread';
/** How many pages a search goes back to find a name. */
const SEARCH_PAGES = 40;

class Sessions {
  items = $state.raw<api.Session[]>([]);
  more = $state(false);
  loaded = $state(false);
  error = $state('');
  filter = $state('');

  /** Ids of conversations that are deleted as soon as it can't be undone any more. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());
  /** Ids of conversations with an answer that was not looked at. */
  unread = $state.raw<ReadonlySet<string>>(storedUnread());
  /** The conversation on screen. */
  current = '';
  searching = $state(false);

  shown = $derived.by(() => {
    return this.items.filter((s) => !this.hidden.has(s.id) && matches(this.filter, s.title));
  });
  groups = $derived(byDay(this.shown, new Date()));

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
      this.#noteEnded(fresh);
      const older = this.items.some((s) => s.id === last?.id) ? kept.filter((s) => !known.has(s.id)) : [];
      this.items = [...fresh, ...older];
      if (older.length === 0) this.more = page.more;
      this.error = '';
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  /** An answer that ended where nobody looks is new to the person. */
  #noteEnded(fresh: readonly api.Session[]): void {
    const live = new Set(this.items.filter((s) => s.live_run).map((s) => s.id));
    const ended = fresh.filter((s) => live.has(s.id) && !s.live_run && (s.id !== this.current || document.hidden));
    if (ended.length > 0) this.#keepUnread(new Set([...this.unread, ...ended.map((s) => s.id)]));
  }

  /** The person looks at a conversation. */
  look(id: string): void {
    this.current = id;
    if (this.unread.has(id)) this.#keepUnread(new Set([...this.unread].filter((u) => u !== id)));
  }

  #keepUnread(unread: ReadonlySet<string>): void {
    this.unread = unread;
    localStorage.setItem(UNREAD_KEY, JSON.stringify([...unread].slice(-200)));
  }

  /** Fetches older ones while a search is on, so that it finds every name. */
  async searchAll(): Promise<void> {
    if (this.searching) return;
    this.searching = true;
    for (let page = 0; page < SEARCH_PAGES && this.more && this.filter.trim() !== '' && this.error === ''; page++) await this.loadMore();
    this.searching = false;
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

  /** Puts a conversation before the others, or back among them. */
  async pin(id: string, pinned: boolean): Promise<void> {
    try {
      await api.pinSession(id, pinned);
      // Where it stands then, the host says; those that were loaded beyond the first page may hold it.
      this.items = this.items.filter((s) => s.id !== id);
      await this.load();
      if (!this.items.some((s) => s.id === id)) await this.#reload();
    } catch (error) {
      this.error = `The conversation was not ${pinned ? 'pinned' : 'unpinned'}. ${(error as Error).message}`;
    }
  }

  /** Fetches the list from its beginning on, as far as it was fetched. */
  async #reload(): Promise<void> {
    const wanted = this.items.length;
    this.items = [];
    await this.load();
    while (this.more && this.items.length < wanted && this.error === '') await this.loadMore();
  }

  /** Deletes a conversation; for some seconds it can be taken back. */
  remove(id: string, title: string, reverted: () => void): void {
    const show = (): void => {
      this.hidden = new Set([...this.hidden].filter((h) => h !== id));
    };
    this.hidden = new Set([...this.hidden, id]);
    undo.offer({
      words: `Deleted “${title}”`,
      commit: (atLast) => {
        if (atLast) api.deleteSessionAtLast(id);
        else void this.#delete(id).finally(show);
      },
      revert: () => {
        show();
        reverted();
      },
    });
  }

  async #delete(id: string): Promise<void> {
    try {
      await api.deleteSession(id);
    } catch (error) {
      this.error = `The conversation was not deleted. ${(error as Error).message}`;
      return;
    }
    this.items = this.items.filter((s) => s.id !== id);
    drafts.store(id, '');
    this.error = '';
  }
}

function storedUnread(): Set<string> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(UNREAD_KEY) ?? '[]');
    return new Set(Array.isArray(value) ? value.filter((v): v is string => typeof v === 'string') : []);
  } catch {
    return new Set();
  }
}

export const sessions = new Sessions();
