import { describe, expect, it } from 'vitest';
import { changes, draftOf, emptyDraft, faultsOf, firstLine } from './agent';
import { allowList, available, beyond, idOf, RESEARCH } from './allowed';
import type { Agent, Tool } from './api';

const tutor: Agent = { id: 'ag_1', name: 'Tutor', instructions: 'Ask back.', tools: ['b', 'p/a'], tool_names: ['b', 'a'], model: 'gone', max_cycles: 3, created_at: '', updated_at: '' };
const tool = (name: string, memory = false): Tool => ({ id: `p/${name}`, name, title: name, plugin: 'p', description: '', labels: [], memory });

describe('an agent in its form', () => {
  it('sends of an agent only what was changed', () => {
    const before = draftOf(tutor);
    expect(changes(before, before)).toEqual({});
    expect(changes({ ...before, name: ' Teacher ', tools: ['p/a', 'b'] }, before)).toEqual({ name: 'Teacher' });
    expect(changes({ ...before, limited: false, cycles: '' }, before)).toEqual({ tools: null, max_cycles: 0 });
    expect(changes({ ...before, tools: [] }, before)).toEqual({ tools: [] });
  });

  it('tells all tools from none', () => {
    expect(draftOf({ ...tutor, tools: null })).toMatchObject({ limited: false, tools: [] });
    expect(draftOf({ ...tutor, tools: [] })).toMatchObject({ limited: true, tools: [] });
  });

  it('names each mistake by its field', () => {
    expect(Object.keys(faultsOf({ ...emptyDraft(), cycles: '51', instructions: 'é'.repeat(8193) }))).toEqual(['name', 'instructions', 'max_cycles']);
    for (const cycles of ['0', '-1', '2.5', '1e1', 'six']) expect(faultsOf({ ...emptyDraft(), name: 'a', cycles })).toHaveProperty('max_cycles');
    expect(faultsOf({ ...emptyDraft(), name: '🕯'.repeat(80), cycles: '50', instructions: 'é'.repeat(8192) })).toEqual({});
    expect(faultsOf({ ...emptyDraft(), name: '🕯'.repeat(81) })).toHaveProperty('name');
  });

  it('shows the first line that says something', () => {
    expect(firstLine('\n  \n  Ask back.\nThen wait.')).toBe('Ask back.');
    expect(firstLine('')).toBe('');
  });
});

describe('the tools of a question', () => {
  const tools = [tool('search'), tool('remember', true), tool('a')];

  it('are those of the agent, and none of memory in private', () => {
    expect(available(tools, undefined, false)).toHaveLength(3);
    expect(available(tools, tutor, false).map((t) => t.name)).toEqual(['a']);
    expect(available(tools, { ...tutor, tools: null }, true).map((t) => t.name)).toEqual(['search', 'a']);
    expect(available(tools, { ...tutor, tools: [] }, false)).toEqual([]);
  });

  it('are named only where one of them is switched off, or one on that is not there by itself', () => {
    const names = tools.map((t) => t.name);
    expect(allowList(names, new Set(), [])).toBeUndefined();
    expect(allowList(names, new Set(['gone']), [])).toBeUndefined();
    expect(allowList(names, new Set(['search']), [])).toEqual(['remember', 'a']);
    expect(allowList([], new Set(['search']), [])).toBeUndefined();
    expect(allowList(names, new Set(names), [])).toEqual([]);
    expect(allowList(['a'], new Set(), [RESEARCH.name])).toEqual(['a', RESEARCH.name]);
    expect(allowList(['a', RESEARCH.name], new Set(), [RESEARCH.name])).toBeUndefined();
  });

  it('keep what an agent names beyond the installed ones', () => {
    const researcher = { ...tutor, tools: ['p/search', RESEARCH.id] };
    expect(beyond(tools, researcher)).toEqual([RESEARCH.id]);
    expect(beyond(tools, { ...tutor, tools: null })).toEqual([]);
  });

  it('are meant by the names under which they were kept before they had identities', () => {
    expect(['search', 'p/search', 'gone', RESEARCH.name, RESEARCH.id].map((w) => idOf(tools, w))).toEqual(['p/search', 'p/search', 'gone', RESEARCH.id, RESEARCH.id]);
  });
});
