/** The one connection to the host, and who listens to it. */
import type { HostEvent, Packet } from '../lib/packets';
import { ProtocolSocket, type LinkState, type Refused } from '../lib/socket';

/** What a part of the page does with what comes over the connection. */
export interface Listener {
  open?(): void;
  packets?(run: string, packets: Packet[]): void;
  reset?(run: string, epoch: number): void;
  lost?(run: string, error: Refused): void;
  event?(event: HostEvent): void;
}

class Link {
  state = $state<LinkState>('closed');
  retryAt = $state(0);
  /** Whether it was ever open: before that there is nothing to have lost. */
  wasOpen = $state(false);
  socket: ProtocolSocket | null = null;
  /** Runs when an attempt fails; it may find out that nobody is signed in. */
  onFailure: () => void = () => undefined;
  #listeners: Listener[] = [];

  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  start(): void {
    if (this.socket) return;
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    this.socket = new ProtocolSocket({
      url: `${scheme}://${location.host}/api/v1/ws`,
      onPackets: (run, packets) => this.#tell((l) => l.packets?.(run, packets)),
      onReset: (run, epoch) => this.#tell((l) => l.reset?.(run, epoch)),
      onLost: (run, error) => this.#tell((l) => l.lost?.(run, error)),
      onEvent: (event) => this.#tell((l) => l.event?.(event)),
      onOpen: () => this.#tell((l) => l.open?.()),
      onState: (state, retryAt) => {
        this.state = state;
        this.retryAt = retryAt;
        if (state === 'open') this.wasOpen = true;
        if (state === 'waiting') this.onFailure();
      },
    });
    this.socket.connect();
    addEventListener('online', this.#again);
    document.addEventListener('visibilitychange', this.#again);
  }

  /** Tries at once instead of waiting for the next attempt. */
  retry(): void {
    this.socket?.connect();
  }

  stop(): void {
    removeEventListener('online', this.#again);
    document.removeEventListener('visibilitychange', this.#again);
    this.socket?.close();
    this.socket = null;
    this.wasOpen = false;
  }

  #again = (): void => {
    if (document.visibilityState === 'visible') this.retry();
  };

  #tell(what: (listener: Listener) => void): void {
    for (const listener of this.#listeners) what(listener);
  }
}

export const link = new Link();
