/**
 * Plays a recorded run to the page in place of the one that the host writes, for
 * what no tool or model of the tests can bring about: graded support, output of a
 * running call, every outcome. Everything else stays the host's: the question
 * is sent, acknowledged and stored as ever, and the page's own client reads
 * what is played. A Go test checks each recording against the protocol's rules.
 */
import type { Page, WebSocketRoute } from '@playwright/test';
import { readFileSync } from 'node:fs';
import type { Packet } from '../src/lib/packets';

export interface Stage {
  /** Plays on, up to and with the first packet that fits; to the end without one. */
  play(until?: (packet: Packet) => boolean): Promise<void>;
}

interface Ack {
  type: string;
  run?: string;
  epoch?: number;
  session_id?: string;
  user_message_id?: string;
  message_ids?: string[];
  live_runs?: { run: string; epoch: number }[];
}

const recorded = (name: string): Packet[] =>
  readFileSync(new URL(`../src/lib/recorded/${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Packet);

/** Sets the stage for the next question of the page; it must not be loaded yet. */
export async function setStage(page: Page, name: string): Promise<Stage> {
  const lines = recorded(name);
  const played: Packet[] = [];
  let told: (ack: Ack) => void;
  const asked = new Promise<Ack>((done) => (told = done));
  let run = '';
  let near: WebSocketRoute | undefined;
  await page.routeWebSocket(/\/api\/v1\/ws$/, (socket) => {
    near = socket;
    const far = socket.connectToServer();
    far.onMessage((message) => {
      const frame = JSON.parse(String(message)) as Ack;
      if (frame.type === 'packets') return;
      if (frame.type === 'ack' && frame.user_message_id !== undefined) {
        run = frame.run ?? '';
        told(frame);
      }
      // To the page the run is as live as what was played of it, whatever the host's own is.
      if (frame.live_runs) frame.live_runs = frame.live_runs.filter((r) => r.run !== run);
      socket.send(JSON.stringify(frame));
    });
    socket.onMessage((message) => {
      const frame = JSON.parse(String(message)) as { type: string; id: string; run?: string; epoch?: number };
      if (frame.type === 'resume' && frame.run === run) socket.send(JSON.stringify({ type: 'ack', id: frame.id, run, epoch: frame.epoch }));
      else far.send(message);
    });
  });
  await page.route('**/api/v1/runs/*/packets?*', async (route) => {
    const ack = await asked;
    if (!route.request().url().includes(run)) return route.fallback();
    return route.fulfill({ json: { run, epoch: ack.epoch, packets: played, done: played.length === lines.length } });
  });
  return {
    play: async (until = () => false) => {
      const ack = await asked;
      const packets: Packet[] = [];
      while (played.length < lines.length) {
        const line = lines[played.length] as Packet;
        const packet = { ...line, run, epoch: ack.epoch ?? 1, obj: placed(line.obj, ack) };
        packets.push(packet);
        played.push(packet);
        if (until(line)) break;
      }
      near?.send(JSON.stringify({ type: 'packets', packets }));
    },
  };
}

/** The ids of a recording become those of the question that was asked. */
function placed(obj: Packet['obj'], ack: Ack): Packet['obj'] {
  if (obj.type === 'session_created') return { ...obj, session_id: ack.session_id ?? '' };
  if (obj.type !== 'run_started') return obj;
  const responses = obj.responses.map((r, i) => ({ ...r, message_id: ack.message_ids?.[i] ?? r.message_id }));
  return { ...obj, user_message_id: ack.user_message_id ?? '', responses };
}
