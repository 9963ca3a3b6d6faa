import { describe, expect, it } from 'vitest';
import { canGoOn, joined, withHeld } from './joined';
import type { Obj, Packet } from './packets';
import { answerText, emptyRun, takePackets, type Answer, type Run, type TextBlock } from './run';

/** A run of one answer, m_2, from what it writes; a number is the turn of what follows it. */
function run(id: string, ...objs: (Record<string, unknown> | number)[]): Run {
  let turn = 0;
  const packets: Packet[] = [];
  const add = (obj: Record<string, unknown>, model: number | null): void => {
    const placement = { turn_index: turn, tab_index: 0, sub_turn_index: null, sub_tab_index: null, model_index: model };
    packets.push({ run: id, epoch: 1, seq: packets.length + 1, placement, obj: obj as unknown as Obj });
  };
  add({ type: 'run_started', user_message_id: 'm_1', responses: [{ model_index: 0, message_id: 'm_2', model: 'local' }] }, null);
  for (const obj of objs) {
    if (typeof obj === 'number') turn = obj;
    else add(obj, 0);
  }
  return takePackets(emptyRun(id, 1), packets);
}

const first = (r: Run): Answer => r.answers[0] as Answer;
const says = (...contents: string[]) => [{ type: 'message_start' }, ...contents.map((content) => ({ type: 'message_delta', content })), { type: 'message_end' }];
const stop = (reason: string) => ({ type: 'stop', reason });
const cutOff = { type: 'notice', code: 'cut_off', message: '' };
const cites = (n: number) => ({ type: 'citation_info', citation_number: n, ref: n, document: { id: `d_${n}`, title: `Log ${n}`, snippet: '', source: 'knowledge' } });
const writes = { type: 'tool_start', call_id: 'c1', tool: 'sends', plugin: 'post', title: 'Send', labels: ['writes'] };
const denied = [writes, { type: 'tool_error', call_id: 'c1', kind: 'denied', message: '', held: true }, { type: 'section_end', outcome: 'denied', duration_ms: 0 }];

describe('joined', () => {
  it('goes on in the middle of a word, in the same text', () => {
    const whole = joined(first(run('r_1', ...says('A long sto'), cutOff, stop('completed'))), [run('r_2', ...says('ry.'), stop('completed'))]);
    expect(whole.blocks.map((b) => b.kind)).toEqual(['text']);
    expect(answerText(whole)).toBe('A long story.');
    expect(whole.stop).toBe('completed');
  });

  it('puts what follows behind what is there, with keys of its own', () => {
    const begun = first(run('r_1', ...says('I send it.'), 1, ...denied, 2, ...says('It was held.'), stop('completed')));
    const whole = joined(begun, [run('r_2', writes, { type: 'section_end', outcome: 'ok', duration_ms: 3 }, 1, ...says('\n\nNow it is sent.'), stop('completed'))]);
    expect(whole.blocks.map((b) => `${b.kind} ${b.turn}`)).toEqual(['text 0', 'tool 1', 'text 2', 'tool 3', 'text 4']);
    expect(new Set(whole.blocks.map((b) => b.key)).size).toBe(5);
    expect(answerText(whole)).toBe('I send it.It was held.\n\nNow it is sent.');
  });

  it('counts a document once that the later run announces again', () => {
    const whole = joined(first(run('r_1', { type: 'message_start' }, cites(1), { type: 'message_delta', content: '[[1]]' }, stop('interrupted'))), [
      run('r_2', { type: 'message_start' }, cites(1), cites(2), { type: 'message_delta', content: ' [[2]]' }),
    ]);
    expect(whole.citations.map((c) => c.number)).toEqual([1, 2]);
    expect(whole.stop).toBeNull();
  });

  it('moves the graded ranges of what follows by the code points before it', () => {
    const whole = joined(first(run('r_1', ...says('🕯️ burns'), stop('user_cancelled'))), [
      run('r_2', { type: 'message_start' }, { type: 'message_delta', content: ' oil' }, { type: 'citation_support', citation_number: 1, start: 1, end: 4, support: 'weak' }),
    ]);
    const text = whole.blocks[0] as TextBlock;
    const [mark] = text.supports;
    expect(Array.from(text.text).slice(mark?.start, mark?.end).join('')).toBe('oil');
  });

  it('leaves what did not change as it was, so that it is not drawn again', () => {
    const begun = first(run('r_1', ...says('One.'), stop('user_cancelled')));
    const objs = [...says(' Two.'), 1, writes];
    const a = joined(begun, [run('r_2', ...objs)]);
    const later = run('r_2', ...objs);
    const b = joined(begun, [later]);
    const c = joined(begun, [takePackets(later, [{ run: 'r_2', epoch: 1, seq: later.seq + 1, placement: { turn_index: 1, tab_index: 0, sub_turn_index: null, sub_tab_index: null, model_index: 0 }, obj: { type: 'tool_progress', call_id: 'c1', message: 'half' } }])]);
    expect(a).toEqual(b);
    expect(c.blocks[0]).toBe(b.blocks[0]);
    expect(c.blocks[1]).not.toBe(b.blocks[1]);
    expect(c.citations).toBe(b.citations);
  });

  it('is the first part while the later run is not known', () => {
    const begun = first(run('r_1', ...says('One.'), stop('user_cancelled')));
    expect(joined(begun, [undefined, emptyRun('r_3', 1)])).toBe(begun);
  });
});

describe('canGoOn', () => {
  const ended = (...objs: Record<string, unknown>[]): boolean => canGoOn(first(run('r_1', ...objs)));
  const fails = (retryable: boolean) => ({ type: 'error', code: 'model_timeout', message: '', retryable });

  it('holds of what was stopped, broken off or cut off, and has words', () => {
    expect(ended(...says('One'), stop('user_cancelled'))).toBe(true);
    expect(ended(...says('One'), stop('interrupted'))).toBe(true);
    expect(ended(...says('One'), cutOff, stop('completed'))).toBe(true);
    expect(ended(...says('One'), fails(true), stop('error'))).toBe(true);
  });

  it("does not hold of what is complete, goes on, has nothing or can't be asked again", () => {
    expect(ended(...says('One.'), stop('completed'))).toBe(false);
    expect(ended(...says('One'))).toBe(false);
    expect(ended(stop('user_cancelled'))).toBe(false);
    expect(ended(...says('One'), fails(false), stop('error'))).toBe(false);
  });
});

describe('withHeld', () => {
  it('says it of what was held back, and not of a call that was denied for another reason', () => {
    const refused = { ...writes, call_id: 'c2' };
    const answer = first(run('r_1', ...denied, 1, refused, { type: 'tool_error', call_id: 'c2', kind: 'denied', message: '' }, 2, { ...writes, call_id: 'c3' }, { type: 'tool_error', call_id: 'c3', kind: 'trap', message: '' }));
    for (const held of ['waiting', 'ran', 'never'] as const) {
      expect(withHeld(answer, held).blocks.map((b) => b.kind === 'tool' && b.held)).toEqual([held, '', '']);
    }
  });
});
