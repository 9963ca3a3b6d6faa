import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Packet } from './packets';
import { Disconnected, ProtocolSocket, Refused } from './socket';

/** The near end of a connection whose far end is the test. */
class Line {
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: (() => void) | null = null;
  sent: Record<string, unknown>[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.break();
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  receive(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  break(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

function packet(seq: number, epoch = 1, end = false): Packet {
  const placement = { turn_index: 0, tab_index: 0, sub_turn_index: null, sub_tab_index: null, model_index: end ? null : 0 };
  const obj = end ? ({ type: 'stop', reason: 'completed' } as const) : ({ type: 'message_delta', content: String(seq) } as const);
  return { run: 'r1', epoch, seq, placement, obj };
}

let lines: Line[];
let got: string[];
let socket: ProtocolSocket;
const last = (): Line => lines.at(-1) as Line;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  got = [];
  socket = new ProtocolSocket({
    url: 'ws://host',
    open: () => {
      const line = new Line();
      lines.push(line);
      return line as unknown as WebSocket;
    },
    random: () => 0.5,
    onPackets: (run, packets) => got.push(`${run}:${packets.map((p) => p.seq).join(',')}`),
    onReset: (run, epoch) => got.push(`reset ${run}@${epoch}`),
    onLost: (run, error) => got.push(`lost ${run} ${error.code}`),
    onEvent: (event) => got.push(`event ${event.topic}`),
    onState: () => undefined,
    onOpen: () => got.push('open'),
  });
  socket.connect();
  last().open();
});

afterEach(() => {
  socket.close();
  vi.useRealTimers();
});

describe('ProtocolSocket', () => {
  it('pairs replies with their requests, also out of order', async () => {
    const a = socket.request({ type: 'attach', session_id: 's' });
    const b = socket.request({ type: 'stop', run: 'r9' });
    last().receive({ type: 'nack', id: '2', error: { code: 'unknown_run', message: 'There is no such run.' } });
    last().receive({ type: 'ack', id: '1', live_runs: [], latest_run: '' });
    await expect(b).rejects.toMatchObject(new Refused('unknown_run', 'There is no such run.'));
    expect((await a).live_runs).toEqual([]);
  });

  it('follows the run that a send started, from its ack', async () => {
    const sent = socket.request({ type: 'send', request_id: 'u', text: 'hi' });
    last().receive({ type: 'ack', id: '1', run: 'r1', epoch: 1, session_id: 's', user_message_id: 'm' });
    last().receive({ type: 'packets', packets: [packet(1), packet(2)] });
    await sent;
    expect(got).toEqual(['open', 'reset r1@1', 'r1:1,2']);
  });

  it('resumes behind the last packet after a broken line, and hands on none twice', () => {
    socket.follow({ run: 'r1', epoch: 1 });
    expect(last().sent[0]).toMatchObject({ type: 'resume', run: 'r1', epoch: 1, after_seq: 0 });
    last().receive({ type: 'packets', packets: [packet(1), packet(2)] });
    last().break();
    vi.advanceTimersByTime(200);
    expect(lines).toHaveLength(2);
    last().open();
    expect(last().sent[0]).toMatchObject({ type: 'resume', after_seq: 2 });
    last().receive({ type: 'ack', id: '2', run: 'r1', epoch: 1 });
    last().receive({ type: 'packets', packets: [packet(2), packet(3), packet(4, 1, true)] });
    expect(got.filter((g) => g.startsWith('r1'))).toEqual(['r1:1,2', 'r1:3,4']);
    expect(socket.follows('r1')).toBe(false);
  });

  it('drops what it has when the log is another one, and begins at the first packet', () => {
    socket.follow({ run: 'r1', epoch: 1 });
    last().receive({ type: 'packets', packets: [packet(1), packet(2)] });
    last().break();
    vi.advanceTimersByTime(200);
    last().open();
    last().receive({ type: 'ack', id: '2', run: 'r1', epoch: 2, reset: true });
    last().receive({ type: 'packets', packets: [packet(3, 1), packet(1, 2)] });
    expect(got.slice(-2)).toEqual(['reset r1@2', 'r1:1']);
  });

  it('asks again from before a gap', () => {
    socket.follow({ run: 'r1', epoch: 1 });
    last().receive({ type: 'packets', packets: [packet(1), packet(3), packet(4)] });
    expect(got.at(-1)).toBe('r1:1');
    expect(last().sent.at(-1)).toMatchObject({ type: 'resume', after_seq: 1 });
  });

  it('rejects what was asked when the line breaks', async () => {
    const asked = socket.request({ type: 'ping' });
    last().break();
    await expect(asked).rejects.toBeInstanceOf(Disconnected);
    await expect(socket.request({ type: 'ping' })).rejects.toBeInstanceOf(Disconnected);
  });

  it('tells of a run that can no longer be resumed', async () => {
    socket.follow({ run: 'r1', epoch: 1 });
    last().receive({ type: 'nack', id: '1', error: { code: 'unknown_run', message: 'Gone.' } });
    await vi.advanceTimersByTimeAsync(0);
    expect(got.at(-1)).toBe('lost r1 unknown_run');
  });

  it('waits longer after each failure and takes a silent line for dead', () => {
    last().break();
    for (const wait of [100, 300, 800, 2000, 4000, 8000, 8000]) {
      const before = lines.length;
      vi.advanceTimersByTime(wait - 1);
      expect(lines).toHaveLength(before);
      vi.advanceTimersByTime(1);
      expect(lines).toHaveLength(before + 1);
      last().break();
    }
    vi.advanceTimersByTime(8000);
    last().open();
    const before = lines.length;
    vi.advanceTimersByTime(35_000 + 100);
    expect(lines).toHaveLength(before + 1);
  });

  it('ignores frames of types it does not know', () => {
    last().receive({ type: 'hologram' });
    last().receive({ type: 'event', topic: 'session', id: 's', change: 'updated' });
    expect(got.at(-1)).toBe('event session');
  });
});
