import { describe, expect, it } from 'vitest';
import type { Message } from './api';
import { turns, upTo } from './thread';

function message(id: string, parent: string, role: 'user' | 'assistant', more: Partial<Message> = {}): Message {
  return { id, parent_id: parent, role, text: id, status: 'completed', created_at: '', ...more };
}

const tree = [
  message('q1', '', 'user'),
  message('a1', 'q1', 'assistant', { run: 'r1' }),
  message('a2', 'q1', 'assistant', { run: 'r2', model_index: 1 }),
  message('a3', 'q1', 'assistant', { run: 'r2', model_index: 0 }),
  message('q2', 'a1', 'user'),
  message('b1', 'q2', 'assistant', { run: 'r3' }),
  message('q3', 'a1', 'user'),
];

describe('turns', () => {
  it('follows the path through the leaf down to the newest message', () => {
    expect(turns(tree, 'q2').map((t) => [t.question.id, t.run])).toEqual([['q1', 'r1'], ['q2', 'r3']]);
  });

  it('offers the other versions of a question and the other runs', () => {
    const [first, second] = turns(tree, 'b1');
    expect(first?.runs).toEqual(['r1', 'r2']);
    expect(second?.versions).toEqual(['q2', 'q3']);
  });

  it('shows the answers of one run by model', () => {
    expect(turns(tree, 'a2')[0]?.answers.map((a) => a.id)).toEqual(['a3', 'a2']);
  });

  it('names the runs that went on with an answer, and the answer that was chosen', () => {
    const [turn] = turns([message('q', '', 'user'), message('a', 'q', 'assistant', { run: 'r1', model_index: 0 }), message('b', 'q', 'assistant', { run: 'r1', model_index: 1, later_runs: ['r2', 'r3'] })], 'b');
    expect(turn).toMatchObject({ run: 'r1', runs: ['r1'], later: ['r2', 'r3'], chosen: 1 });
  });

  it('takes the newest message where the leaf is unknown', () => {
    expect(turns(tree, '').map((t) => t.question.id)).toEqual(['q1', 'q3']);
    expect(turns([], '')).toEqual([]);
  });

  it('shows in front of a question that is on its way what it follows', () => {
    const all = turns(tree, 'q3');
    expect(upTo(all, undefined)).toBe(all);
    expect(upTo(all, 'root')).toEqual([]);
    expect(upTo(all, 'a1').map((t) => t.question.id)).toEqual(['q1']);
    expect(upTo(all, 'gone')).toBe(all);
  });

  it('ends on a cycle instead of hanging', () => {
    expect(turns([message('x', 'y', 'user'), message('y', 'x', 'user')], 'x').length).toBeGreaterThan(0);
  });
});
