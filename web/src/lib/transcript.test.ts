import { describe, expect, it } from 'vitest';
import type { Message } from './api';
import type { Packet } from './packets';
import { partsOf } from './parts';
import { emptyRun, takePackets, type Run } from './run';
import { turns } from './thread';
import { fileName, transcript } from './transcript';

const at = '2026-03-01T12:00:00Z';
const messages: Message[] = [
  { id: 'm_1', role: 'user', text: 'How much oil?\n\nIn litres.', status: 'completed', created_at: at, agent_id: 'ag_1', files: [{ id: 'f', name: 'log.md', media_type: 'text/markdown', bytes: 3 }] },
  { id: 'm_2', parent_id: 'm_1', role: 'assistant', text: 'Forty [[1]].', model: 'local', model_index: 0, run: 'r_1', status: 'completed', created_at: at },
];
const objs: Record<string, unknown>[] = [
  { type: 'run_started', user_message_id: 'm_1', responses: [{ model_index: 0, message_id: 'm_2', model: 'local' }] },
  { type: 'message_start' },
  { type: 'citation_info', citation_number: 1, ref: 1, document: { id: 'd', title: 'Log', snippet: '', source: 'knowledge', url: 'https://lights.example/log' } },
  { type: 'message_delta', content: 'Forty [[1]].' },
  { type: 'message_end' },
];
const run: Run = takePackets(
  emptyRun('r_1', 1),
  objs.map((obj, i) => ({ run: 'r_1', epoch: 1, seq: i + 1, placement: { turn_index: 0, tab_index: 0, sub_turn_index: null, sub_tab_index: null, model_index: i === 0 ? null : 0 }, obj }) as unknown as Packet),
);
const written = (runs: Record<string, Run>): string => transcript('Oil', turns(messages, 'm_2').map((turn) => ({ turn, parts: partsOf(turn, runs, true), agent: 'Tutor' })));

describe('a conversation as Markdown', () => {
  it('has each question, who answered it, what, and from which sources', () => {
    expect(written({ r_1: run })).toBe(
      '# Oil\n\n---\n\n**Question** to Tutor, 2026-03-01\n\n> How much oil?\n>\n> In litres.\n\nWith log.md\n\n**local**\n\nForty [1].\n\n[1] Log https://lights.example/log\n',
    );
  });

  it('has the stored text where the packets are not there, without markers that lead nowhere', () => {
    expect(written({})).toContain('**local**\n\nForty .');
  });

  it('gets a name that every file system takes', () => {
    expect(fileName('How much oil? a/b: "c"')).toBe('How-much-oil-a-b-c.md');
    expect(fileName('…')).toBe('conversation.md');
    expect(fileName('灯台'.repeat(60))).toHaveLength(63);
  });
});
