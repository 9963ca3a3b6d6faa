/**
 * The files that go with the next question: on their way to the host, there, or
 * refused. Those that are there are kept in this browser per conversation, so
 * that a reload loses none.
 */
import * as api from '../lib/api';

export interface Attachment {
  key: number;
  name: string;
  bytes: number;
  /** The part that was sent, 0 to 1. */
  part: number;
  /** Set once the host has it. */
  file: api.FileRef | null;
  /** Why it was not taken; '' while it was. */
  problem: string;
  /** What reading it took, such as an assumed encoding; '' for nothing. */
  note: string;
}

/** What the host takes at most. What a file is, the host finds out. */
const MAX_BYTES = 1024 * 1024;
const MAX_PICTURE_BYTES = 8 * MAX_BYTES;
const MAX_FILES = 20;

const keyOf = (session: string) => `bulkhead.attached.${session}`;

class Attachments {
  items = $state<Attachment[]>([]);
  pictures = $derived(this.items.some((a) => a.file !== null && api.isPicture(a.file)));
  uploading = $derived(this.items.some((a) => a.file === null && a.problem === ''));
  /** null until a conversation was opened. */
  #session: string | null = null;
  #next = 1;

  /** Shows the files of a conversation; carry takes those of a new one along into it. */
  open(session: string, carry: boolean): void {
    if (session === this.#session) return;
    const carried = carry ? this.items : [];
    if (carry) this.#keep([]);
    this.#session = session;
    this.items = carried.length > 0 ? carried : this.#load(session).map((file) => this.#ready(file));
    this.#keep();
  }

  /** Uploads files one after another. */
  async add(files: readonly File[]): Promise<void> {
    const entries = files.map((file) => {
      const refusal = this.#refusal(file);
      this.items.push({ key: this.#next++, name: file.name === '' ? 'pasted' : file.name, bytes: file.size, part: 0, file: null, problem: refusal, note: '' });
      return { file, entry: this.items[this.items.length - 1] as Attachment };
    });
    for (const { file, entry } of entries) if (entry.problem === '') await this.#upload(file, entry);
  }

  #refusal(file: File): string {
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
      if (file.size > MAX_PICTURE_BYTES) return `${file.name} has more than 8 MiB. Attach a smaller copy.`;
    } else if (file.size > MAX_BYTES) return `${file.name} has more than 1 MiB. Add it to Knowledge, or attach the part that matters.`;
    if (this.items.filter((a) => a.problem === '').length >= MAX_FILES) return `${file.name} is one too many: a question carries at most ${MAX_FILES} files.`;
    return '';
  }

  async #upload(file: File, entry: Attachment): Promise<void> {
    try {
      const reply = await api.uploadFile(file, (part) => (entry.part = part));
      const taken = reply.files[0];
      if (taken) {
        entry.file = { id: taken.id, name: taken.name, media_type: taken.media_type, bytes: taken.bytes };
        entry.note = taken.note ?? '';
      } else entry.problem = reply.failed?.[0]?.error.message ?? 'The host did not take it.';
      // It was taken off the list while it was on its way.
      if (taken && !this.items.some((a) => a.key === entry.key)) void api.removeFile(taken.id).catch(() => undefined);
    } catch (error) {
      entry.problem = `${entry.name} did not arrive. ${(error as Error).message}`;
    }
    this.#keep();
  }

  /** Takes a file off the question; the host forgets it too. */
  remove(key: number): void {
    const gone = this.items.find((a) => a.key === key);
    this.items = this.items.filter((a) => a.key !== key);
    this.#keep();
    // Where it stays, the host forgets it by itself after some days.
    if (gone?.file) void api.removeFile(gone.file.id).catch(() => undefined);
  }

  /** Hands over the files for a question that is sent now. */
  take(): api.FileRef[] {
    const files = this.items.flatMap((a) => (a.file ? [{ ...a.file }] : []));
    this.items = [];
    this.#keep();
    return files;
  }

  /** Gives back the files of a question that was refused. */
  restore(session: string, files: readonly api.FileRef[]): void {
    if (files.length === 0) return;
    if (session === this.#session) {
      this.items = [...files.map((file) => this.#ready(file)), ...this.items];
      this.#keep();
    } else {
      this.#keep([...files, ...this.#load(session)], session);
    }
  }

  #ready(file: api.FileRef): Attachment {
    return { key: this.#next++, name: file.name, bytes: file.bytes, part: 1, file, problem: '', note: '' };
  }

  #load(session: string): api.FileRef[] {
    try {
      const list: unknown = JSON.parse(localStorage.getItem(keyOf(session)) ?? '[]');
      return Array.isArray(list) ? (list as api.FileRef[]) : [];
    } catch {
      return [];
    }
  }

  #keep(files = this.items.flatMap((a) => (a.file ? [a.file] : [])), session = this.#session ?? ''): void {
    if (files.length === 0) localStorage.removeItem(keyOf(session));
    else localStorage.setItem(keyOf(session), JSON.stringify(files));
  }
}

export const attachments = new Attachments();
