/** What is typed and not sent, per session, kept in this browser. */
const key = (session: string) => `bulkhead.draft.${session}`;

type Heard = (session: string, text: string) => void;

class Drafts {
  #heard: Heard = () => undefined;

  load(session: string): string {
    return localStorage.getItem(key(session)) ?? '';
  }

  store(session: string, text: string): void {
    if (text === '') localStorage.removeItem(key(session));
    else localStorage.setItem(key(session), text);
  }

  /** Gives a text back to the composer, in front of what was typed since. */
  restore(session: string, text: string): void {
    const since = this.load(session);
    const whole = since === '' ? text : `${text}\n\n${since}`;
    this.store(session, whole);
    this.#heard(session, whole);
  }

  onRestore(heard: Heard): void {
    this.#heard = heard;
  }
}

export const drafts = new Drafts();
