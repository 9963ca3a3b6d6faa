/** The last thing that can still be taken back, and the time in which it can. */

/** How long it can be taken back, in milliseconds. */
const WHILE = 8000;

interface Pending {
  words: string;
  /** Makes it final; atLast tells that the page is going. */
  commit: (atLast: boolean) => void;
  revert: () => void;
}

class Undo {
  current = $state.raw<Pending | null>(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener('pagehide', () => this.#settle(true));
  }

  /** Offers to take something back. What was offered before becomes final. */
  offer(pending: Pending): void {
    this.#settle(false);
    this.current = pending;
    this.resume();
  }

  /** Takes it back. */
  take(): void {
    clearTimeout(this.#timer);
    const pending = this.current;
    this.current = null;
    pending?.revert();
  }

  /** Lets the time run; hold stops it while a person points at the offer. */
  resume(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(false), WHILE);
  }

  hold(): void {
    clearTimeout(this.#timer);
  }

  #settle(atLast: boolean): void {
    clearTimeout(this.#timer);
    const pending = this.current;
    this.current = null;
    pending?.commit(atLast);
  }
}

export const undo = new Undo();
