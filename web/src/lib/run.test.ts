import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Obj, Packet } from './packets';
import { answerText, callsOf, emptyRun, numbered, reportOf, rows, takePackets, type ToolBlock } from './run';
import { subject, toolResult } from './words';

/** Reads a recorded stream: one packet a line. */
function recorded(name: string): Packet[] {
  const text = readFileSync(new URL(`./recorded/${name}.jsonl`, import.meta.url), 'utf8');
  return text.trim().split('\n').map((line) => JSON.parse(line) as Packet);
}

function packet(seq: number, obj: Record<string, unknown>, turn = 0, extra: Partial<Packet['placement']> = {}): Packet {
  const placement = { turn_index: turn, tab_index: 0, sub_turn_index: null, sub_tab_index: null, model_index: 0, ...extra };
  return { run: 'r_1', epoch: 1, seq, placement, obj: obj as unknown as Obj };
}

const started = packet(1, { type: 'run_started', user_message_id: 'm_1', responses: [{ model_index: 0, message_id: 'm_2', model: 'local' }] }, 0, {
  model_index: null,
});

describe('a recorded run with reasoning, narration and two parallel calls', () => {
  const stream = recorded('parallel');

  it('gives the blocks in drawing order', () => {
    const run = takePackets(emptyRun('r_1', 1), stream);
    const answer = run.answers[0];
    expect(run.stop).toBe('completed');
    expect(run.seq).toBe(stream.length);
    expect(answer?.blocks.map((b) => `${b.kind} ${b.turn}.${b.tab}`)).toEqual([
      'reasoning 0.0', 'text 1.0', 'tool 2.0', 'tool 2.1', 'text 3.0',
    ]);
    expect(answerText(answer!)).toBe('Let me look.A capability is declared in the manifest [[1]].');
    expect(answer?.citations.map((c) => c.document.title)).toEqual(['Writing a plugin']);
  });

  it('groups the parallel calls in one row and keeps their packets apart', () => {
    const run = takePackets(emptyRun('r_1', 1), stream);
    const row = rows(run.answers[0]!.blocks).find((r) => r.length > 1) as ToolBlock[];
    expect(row.map((b) => [b.callId, b.outcome, b.documents.length])).toEqual([['c1', 'ok', 1], ['c2', 'error', 0]]);
    expect(row[0]?.hostCalls).toEqual([{ capability: 'knowledge', summary: 'search "capability"', decision: 'allow', bytes: 412 }]);
    expect(row[1]?.error?.kind).toBe('trap');
  });

  it('is the same however the stream is cut and whatever is sent twice', () => {
    const whole = takePackets(emptyRun('r_1', 1), stream);
    for (let cut = 0; cut <= stream.length; cut++) {
      const first = takePackets(emptyRun('r_1', 1), stream.slice(0, cut));
      const again = takePackets(first, stream.slice(Math.max(0, cut - 3)));
      expect(again).toEqual(whole);
    }
  });
});

describe('a recorded run with an agent inside a call', () => {
  const stream = recorded('nested');
  const whole = takePackets(emptyRun('r_1', 1), stream);
  const agentAt = (n: number): ToolBlock => takePackets(emptyRun('r_1', 1), stream.slice(0, n)).answers[0]?.blocks.find((b) => b.kind === 'tool') as ToolBlock;
  const agent = agentAt(stream.length);

  it('keeps its work inside the call and out of the answer', () => {
    expect(whole.answers[0]?.blocks.map((b) => `${b.kind} ${b.turn}`)).toEqual(['text 0', 'tool 1', 'text 2']);
    expect(answerText(whole.answers[0]!)).toBe('I let an agent look into it.It burns about 1,600 litres of oil a year [[1]].');
    expect(agent.children.map((b) => `${b.kind} ${b.turn}.${b.tab}`)).toEqual(['reasoning 0.0', 'tool 1.0', 'tool 1.1', 'tool 2.0', 'report 3.0']);
    expect(callsOf(agent).map((c) => [c.callId, c.outcome, c.documents.length])).toEqual([['c2', 'ok', 1], ['c3', 'ok', 1], ['c4', 'timeout', 0]]);
  });

  it('ends the call by its own section_end and not by those inside it', () => {
    const lastInside = stream.findIndex((p) => p.obj.type === 'intermediate_report_start');
    expect(agentAt(lastInside)).toMatchObject({ outcome: null });
    expect(reportOf(agentAt(lastInside))).toBeUndefined();
    expect(agent).toMatchObject({ outcome: 'ok', durationMs: 14200 });
  });

  it('says what it is about and how many calls it made', () => {
    expect(subject(agent)).toBe('Find out how much oil the light burns in a year.');
    expect(toolResult(agent)).toBe('3 calls');
  });

  it('keeps the report, and counts its sources from 1 as they are used', () => {
    const report = reportOf(agent)!;
    expect(report.done).toBe(true);
    const { text, citations } = numbered(report);
    expect(text).toContain('a year** [[1]]. A winter took 400 of them [[2]].');
    expect(citations.map((c) => c.document.id)).toEqual(['d_table', 'd_log']);
    // Before its sources are known, a marker is nothing that could be pressed.
    expect(numbered({ text: report.text, documents: [] }).citations).toEqual([]);
  });

  it('takes for the report only what stands behind everything else', () => {
    const said = agent.children.at(-1)!;
    const before = { ...agent, children: [{ ...said, turn: 1 }, ...agent.children.slice(0, -1)] } as ToolBlock;
    expect(reportOf(before)).toBeUndefined();
  });

  it('is the same however the stream is cut and whatever is sent twice', () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const first = takePackets(emptyRun('r_1', 1), stream.slice(0, cut));
      expect(takePackets(first, stream.slice(Math.max(0, cut - 5)))).toEqual(whole);
    }
  });
});

describe('takePackets', () => {
  it('ignores types it does not know, but moves the cursor', () => {
    const run = takePackets(emptyRun('r_1', 1), [started, packet(2, { type: 'hologram', depth: 3 }), packet(3, { type: 'message_start' }, 1)]);
    expect(run.seq).toBe(3);
    expect(run.answers[0]?.blocks).toHaveLength(1);
  });

  it('stops at a gap, so that a resume from its cursor misses nothing', () => {
    const run = takePackets(emptyRun('r_1', 1), [started, packet(3, { type: 'message_start' })]);
    expect(run.seq).toBe(1);
  });

  it('ignores another epoch until it is told of the reset', () => {
    const other = { ...started, epoch: 2 };
    expect(takePackets(emptyRun('r_1', 1), [other]).seq).toBe(0);
    expect(takePackets(emptyRun('r_1', 2), [other]).seq).toBe(1);
  });

  it('does not change the run it was given', () => {
    const before = takePackets(emptyRun('r_1', 1), [started, packet(2, { type: 'message_start' })]);
    const copy = structuredClone(before);
    takePackets(before, [packet(3, { type: 'message_delta', content: 'x' }), packet(4, { type: 'message_end' })]);
    expect(before).toEqual(copy);
  });

  it('keeps the answers of several models apart', () => {
    const both = packet(1, {
      type: 'run_started', user_message_id: 'm_1',
      responses: [{ model_index: 0, message_id: 'm_2', model: 'a' }, { model_index: 1, message_id: 'm_3', model: 'b' }],
    }, 0, { model_index: null });
    const run = takePackets(emptyRun('r_1', 1), [
      both,
      packet(2, { type: 'message_start' }),
      packet(3, { type: 'message_start' }, 0, { model_index: 1 }),
      packet(4, { type: 'message_delta', content: 'one' }),
      packet(5, { type: 'message_delta', content: 'two' }, 0, { model_index: 1 }),
      packet(6, { type: 'error', code: 'model_timeout', message: 'Too slow.', retryable: true }, 0, { model_index: 1 }),
      packet(7, { type: 'stop', reason: 'error' }, 0, { model_index: 1 }),
    ]);
    expect(run.answers.map(answerText)).toEqual(['one', 'two']);
    expect(run.answers.map((a) => a.stop)).toEqual([null, 'error']);
    expect(run.answers[1]?.error?.code).toBe('model_timeout');
    expect(run.stop).toBeNull();
  });

  it('puts the blocks of an agent inside its tool block', () => {
    const start = { type: 'tool_start', call_id: 'c1', tool: 'agent', plugin: '', title: 'Agent', labels: [] };
    const run = takePackets(emptyRun('r_1', 1), [
      started,
      packet(2, start),
      packet(3, { type: 'reasoning_start' }, 0, { sub_turn_index: 0, sub_tab_index: 0 }),
      packet(4, { type: 'reasoning_delta', reasoning: 'hm' }, 0, { sub_turn_index: 0, sub_tab_index: 0 }),
      packet(5, { type: 'section_end', outcome: 'ok', duration_ms: 10 }),
    ]);
    const block = run.answers[0]?.blocks[0] as ToolBlock;
    expect(block.outcome).toBe('ok');
    expect(block.children).toMatchObject([{ kind: 'reasoning', text: 'hm' }]);
  });

  it('resolves what a call asked for', () => {
    const run = takePackets(emptyRun('r_1', 1), [
      started,
      packet(2, { type: 'tool_start', call_id: 'c1', tool: 't', plugin: 'p', title: 'T', labels: null }),
      packet(3, { type: 'approval_request', approval_id: 'a1', call_id: 'c1', capability: 'http', summary: 'read a page', expires_at: '' }),
      packet(4, { type: 'approval_resolved', approval_id: 'a1', decision: 'deny', by: 'owner' }),
    ]);
    expect((run.answers[0]?.blocks[0] as ToolBlock).asks).toEqual([{ id: 'a1', what: 'approval', summary: 'read a page', resolution: 'deny' }]);
  });
});
