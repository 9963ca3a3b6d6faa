/**
 * The protocol's client: one WebSocket that comes back by itself, replies paired
 * with their requests, and a cursor per followed run so that a reader gets every
 * packet of an epoch once, or a reset. It draws nothing and keeps no text.
 */
import type { Ack, HostEvent, Packet, RunRef, ServerFrame } from './packets';

export type LinkState = 'connecting' | 'open' | 'waiting' | 'closed';

/** A request was refused by the host. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly run = '',
  ) {
    super(message);
  }
}

/** The connection broke before the reply came; it is not known what happened. */
export class Disconnected extends Error {
  constructor() {
    super('The connection was lost before the host replied.');
  }
}

export interface SocketConfig {
  url: string;
  /** Packets of followed runs: in order, without gap or repetition. */
  onPackets(run: string, packets: Packet[]): void;
  /** A followed run's log is another one now: drop what was drawn of it. */
  onReset(run: string, epoch: number): void;
  /** A followed run can't be resumed, such as when its session was deleted. */
  onLost(run: string, error: Refused): void;
  onEvent(event: HostEvent): void;
  /** retryAt is a time in epoch milliseconds, 0 where none is planned. */
  onState(state: LinkState, retryAt: number): void;
  /** Runs on each connect, before the followed runs are resumed. */
  onOpen(): void;
  open?(url: string): WebSocket;
  random?(): number;
}

/** Back-off in milliseconds: the first attempts are quick, later ones spare the host. */
const BACKOFF = [100, 300, 800, 2000, 4000, 8000];
/** The host sends a heartbeat after 15 s of silence; twice that is a dead line. */
const SILENCE_MS = 35_000;

interface Waiting {
  resolve(ack: Ack): void;
  reject(error: Error): void;
}

interface Cursor {
  epoch: number;
  seq: number;
}

export class ProtocolSocket {
  #config: SocketConfig;
  #socket: WebSocket | null = null;
  #waiting = new Map<string, Waiting>();
  #cursors = new Map<string, Cursor>();
  #nextId = 1;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(config: SocketConfig) {
    this.#config = config;
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === 1;
  }

  /** Connects now, also when a later attempt was planned. */
  connect(): void {
    if (this.#socket || this.#closed) return;
    clearTimeout(this.#timer);
    this.#config.onState('connecting', 0);
    const open = this.#config.open ?? ((url: string) => new WebSocket(url, 'bulkhead.v1'));
    const socket = open(this.#config.url);
    this.#socket = socket;
    socket.onopen = () => this.#opened(socket);
    socket.onmessage = (event: MessageEvent) => {
      if (socket === this.#socket && typeof event.data === 'string') this.#receive(event.data);
    };
    socket.onclose = () => this.#lost(socket);
    // A close follows every error; there is nothing more to learn from it.
    socket.onerror = () => undefined;
    this.#watch();
  }

  /** Ends the connection for good. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#socket?.close();
    this.#drop();
    this.#config.onState('closed', 0);
  }

  /**
   * Sends a frame and waits for its reply. Rejects with Refused, or with
   * Disconnected where the line breaks first or is not open.
   */
  request(frame: { type: string } & Record<string, unknown>): Promise<Ack> {
    const socket = this.#socket;
    if (!socket || !this.isOpen) return Promise.reject(new Disconnected());
    const id = String(this.#nextId++);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ ...frame, id }));
    });
  }

  /** Follows a run from its first packet, and again after each reconnect. */
  follow(ref: RunRef): void {
    if (this.#cursors.has(ref.run)) return;
    this.#cursors.set(ref.run, { epoch: ref.epoch, seq: 0 });
    if (this.isOpen) this.#resume(ref.run);
  }

  /** Stops following a run; the run goes on. */
  unfollow(run: string): void {
    if (this.#cursors.delete(run) && this.isOpen) {
      // Whether the host still knew of it makes no difference here.
      this.request({ type: 'detach', run }).catch(() => undefined);
    }
  }

  follows(run: string): boolean {
    return this.#cursors.has(run);
  }

  #opened(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#attempt = 0;
    this.#config.onState('open', 0);
    this.#config.onOpen();
    for (const run of this.#cursors.keys()) this.#resume(run);
  }

  #lost(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    this.#drop();
    if (this.#closed) return;
    const step = BACKOFF[Math.min(this.#attempt, BACKOFF.length - 1)] ?? 0;
    this.#attempt++;
    const delay = step * (0.75 + 0.5 * (this.#config.random ?? Math.random)());
    this.#timer = setTimeout(() => this.connect(), delay);
    this.#config.onState('waiting', Date.now() + delay);
  }

  #drop(): void {
    clearTimeout(this.#watchdog);
    this.#socket = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const w of waiting) w.reject(new Disconnected());
  }

  /** A line that is silent for too long is dead, though nothing closed it. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => {
      const socket = this.#socket;
      if (!socket) return;
      socket.close();
      this.#lost(socket);
    }, SILENCE_MS);
  }

  #resume(run: string): void {
    const cursor = this.#cursors.get(run);
    if (!cursor) return;
    this.request({ type: 'resume', run, epoch: cursor.epoch, after_seq: cursor.seq }).catch((error: unknown) => {
      // After a disconnect the next connect resumes it.
      if (!(error instanceof Refused)) return;
      this.#cursors.delete(run);
      this.#config.onLost(run, error);
    });
  }

  #receive(data: string): void {
    this.#watch();
    const frame = JSON.parse(data) as ServerFrame;
    switch (frame.type) {
      case 'ack':
        this.#acked(frame);
        break;
      case 'nack': {
        const waiting = this.#waiting.get(frame.id ?? '');
        this.#waiting.delete(frame.id ?? '');
        waiting?.reject(new Refused(frame.error.code, frame.error.message, frame.run));
        break;
      }
      case 'packets':
        this.#take(frame.packets);
        break;
      case 'event':
        this.#config.onEvent(frame);
        break;
    }
  }

  /**
   * Moves the cursor before the reply's waiter wakes, since packets may follow
   * in the next frame.
   */
  #acked(ack: Ack): void {
    const { run, epoch } = ack;
    const cursor = run === undefined ? undefined : this.#cursors.get(run);
    if (run !== undefined && epoch !== undefined) {
      if (!cursor) {
        if (ack.message_id !== undefined || ack.user_message_id !== undefined) {
          this.#cursors.set(run, { epoch, seq: 0 });
          this.#config.onReset(run, epoch);
        }
      } else if (ack.reset === true || cursor.epoch !== epoch) {
        this.#cursors.set(run, { epoch, seq: 0 });
        this.#config.onReset(run, epoch);
      }
    }
    const waiting = this.#waiting.get(ack.id);
    this.#waiting.delete(ack.id);
    waiting?.resolve(ack);
  }

  #take(packets: Packet[]): void {
    const fresh = new Map<string, Packet[]>();
    const gaps = new Set<string>();
    for (const packet of packets) {
      const cursor = this.#cursors.get(packet.run);
      if (!cursor || packet.epoch !== cursor.epoch || packet.seq <= cursor.seq || gaps.has(packet.run)) continue;
      if (packet.seq !== cursor.seq + 1) {
        gaps.add(packet.run);
        continue;
      }
      cursor.seq = packet.seq;
      const list = fresh.get(packet.run);
      if (list) list.push(packet);
      else fresh.set(packet.run, [packet]);
      if (packet.obj.type === 'stop' && packet.placement.model_index === null) this.#cursors.delete(packet.run);
    }
    for (const [run, list] of fresh) this.#config.onPackets(run, list);
    for (const run of gaps) this.#resume(run);
  }
}
