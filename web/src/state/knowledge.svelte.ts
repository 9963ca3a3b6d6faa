/** The documents that the search tool reads, and the uploads on their way. */
import * as api from '../lib/api';
import { link } from './link.svelte';

export interface Upload {
  id: number;
  name: string;
  part: number;
  /** '' while it is under way. */
  state: '' | 'added' | 'updated' | 'unchanged' | 'failed';
  message: string;
}

class Knowledge {
  items = $state.raw<api.StoredDocument[]>([]);
  loaded = $state(false);
  error = $state('');
  uploads = $state<Upload[]>([]);
  #next = 1;

  constructor() {
    link.listen({
      event: (event) => {
        if (event.topic === 'document' && this.loaded) void this.load();
      },
    });
  }

  async load(): Promise<void> {
    try {
      this.items = (await api.documents()).documents ?? [];
      this.error = '';
    } catch (error) {
      this.error = `The documents can't be listed. ${(error as Error).message}`;
    }
    this.loaded = true;
  }

  /** Uploads files one after another; each tells its own outcome. */
  async add(files: readonly File[]): Promise<void> {
    const entries = files.map((file) => {
      this.uploads.unshift({ id: this.#next++, name: file.name, part: 0, state: '', message: '' });
      return { file, upload: this.uploads[0] as Upload };
    });
    for (const { file, upload } of entries) {
      try {
        const reply = await api.uploadDocument(file, (part) => (upload.part = part));
        const failed = reply.failed?.[0];
        upload.state = failed ? 'failed' : (reply.documents[0]?.status ?? 'added');
        upload.message = failed?.error.message ?? reply.documents[0]?.note ?? '';
      } catch (error) {
        upload.state = 'failed';
        upload.message = (error as Error).message;
      }
    }
    await this.load();
  }

  async remove(id: string): Promise<void> {
    try {
      await api.removeDocument(id);
      this.items = this.items.filter((d) => d.id !== id);
      this.error = '';
    } catch (error) {
      this.error = `The document was not removed. ${(error as Error).message}`;
    }
  }

  clearUploads(): void {
    this.uploads = this.uploads.filter((u) => u.state === '');
  }
}

export const knowledge = new Knowledge();
