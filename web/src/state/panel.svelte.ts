/** What the right pane shows: one source, or nothing. */
import * as api from '../lib/api';
import type { Document } from '../lib/packets';

export interface Source {
  document: Document;
  /** The number on screen, 0 where none is shown. */
  number: number;
  /** The other sources of the same answer or call, in order, itself among them. */
  among: { document: Document; number: number }[];
}

class Panel {
  source = $state.raw<Source | null>(null);
  text = $state('');
  /** Of the whole text. */
  mediaType = $state('');
  loading = $state(false);
  error = $state('');
  /** Gets the focus back when the pane closes. */
  #opener: HTMLElement | null = null;

  open(source: Source): void {
    if (!this.source && document.activeElement instanceof HTMLElement) this.#opener = document.activeElement;
    // The pane may take room from the conversation: what it was opened from stays in view.
    if (!this.source) requestAnimationFrame(() => requestAnimationFrame(() => this.#opener?.scrollIntoView({ block: 'nearest' })));
    this.source = source;
    this.text = '';
    this.error = '';
    this.loading = false;
  }

  close(): void {
    this.source = null;
    this.#opener?.focus();
    this.#opener = null;
  }

  /** Closes the pane when what it was opened from is no longer shown; there is nothing to give the focus back to. */
  leave(): void {
    this.source = null;
    this.#opener = null;
  }

  /** Fetches the whole text of the shown document. */
  async read(): Promise<void> {
    const shown = this.source;
    if (!shown) return;
    this.loading = true;
    this.error = '';
    try {
      const read = shown.document.source === 'file' ? api.readFile : api.readDocument;
      const { text, media_type } = await read(shown.document.id);
      if (this.source === shown) {
        this.mediaType = media_type;
        // A picture has no text; it stands with the question that carries it.
        if (api.isPicture({ media_type })) this.error = 'This file is a picture. It is shown with the question that it came with.';
        else this.text = text;
      }
    } catch (error) {
      if (this.source === shown) this.error = (error as Error).message;
    }
    if (this.source === shown) this.loading = false;
  }
}

export const panel = new Panel();
