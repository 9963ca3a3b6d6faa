/** What a plugin may do, and what of its tools changed, in words. */
import type { Grant, HeldTool } from './api';

const MODES: [Grant['mode'], string][] = [
  ['allow', 'It may'],
  ['ask', 'It asks before it may'],
  ['deny', 'It may not'],
];

/** The grants by how they were decided, each as what follows the words of its mode. */
export function rights(plugin: string, grants: readonly Grant[]): { words: string; what: string[] }[] {
  const told = (g: Grant): string => {
    const start = `${plugin} wants to `;
    return g.summary.startsWith(start) ? g.summary.slice(start.length).replace(/\.$/, '') : g.summary;
  };
  return MODES.map(([mode, words]) => ({ words, what: grants.filter((g) => g.mode === mode).map(told) })).filter((r) => r.what.length > 0);
}

const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What is different in a tool from how it was seen last; 'new' for one that never was. */
export function difference(tool: HeldTool): string[] {
  const { before } = tool;
  if (!before) return ['new'];
  const parts: [string, boolean][] = [
    ['title', (tool.title ?? '') !== (before.title ?? '')],
    ['description', tool.description !== before.description],
    ['arguments', !sameJson(tool.input_schema, before.input_schema)],
    ['form of its answer', !sameJson(tool.output_schema, before.output_schema)],
  ];
  return parts.filter(([, differs]) => differs).map(([name]) => name);
}
