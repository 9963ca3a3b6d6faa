/** An agent as a form holds it, and what of the form the host is told. */
import type { Agent, AgentBody } from './api';

/** What is written in the form. */
export interface AgentDraft {
  /** '' for a new one. */
  id: string;
  name: string;
  instructions: string;
  /** It may use only the tools that are listed. */
  limited: boolean;
  tools: string[];
  /** '' for the default one. */
  model: string;
  /** As it is typed; '' for the host's limit. */
  cycles: string;
}

/** The host's limits. */
export const MAX_NAME = 80;
export const MAX_INSTRUCTION_BYTES = 16 * 1024;
export const MAX_CYCLES = 50;

export const emptyDraft = (): AgentDraft => ({ id: '', name: '', instructions: '', limited: false, tools: [], model: '', cycles: '' });

export function draftOf(agent: Agent): AgentDraft {
  return {
    id: agent.id,
    name: agent.name,
    instructions: agent.instructions,
    limited: agent.tools !== null,
    tools: agent.tools ?? [],
    model: agent.model ?? '',
    cycles: agent.max_cycles ? String(agent.max_cycles) : '',
  };
}

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** What is wrong with a draft, in words, by the name of the field; empty where nothing is. */
export function faultsOf(draft: AgentDraft): Record<string, string> {
  const faults: Record<string, string> = {};
  const name = draft.name.trim();
  if (name === '') faults['name'] = 'Give it a name.';
  else if (Array.from(name).length > MAX_NAME) faults['name'] = `The name has ${Array.from(name).length} characters; ${MAX_NAME} is the most.`;
  const bytes = bytesOf(draft.instructions.trim());
  if (bytes > MAX_INSTRUCTION_BYTES)
    faults['instructions'] = `The instructions have ${(bytes / 1024).toFixed(1)} KiB; ${MAX_INSTRUCTION_BYTES / 1024} KiB is the most. Put long material into Knowledge, where a tool finds it.`;
  const cycles = draft.cycles.trim();
  if (cycles !== '' && !(/^\d{1,3}$/.test(cycles) && Number(cycles) >= 1 && Number(cycles) <= MAX_CYCLES)) faults['max_cycles'] = `Write a whole number from 1 to ${MAX_CYCLES}, or leave it empty.`;
  return faults;
}

const bodyOf = (draft: AgentDraft): Required<AgentBody> => ({
  name: draft.name.trim(),
  instructions: draft.instructions.trim(),
  tools: draft.limited ? [...draft.tools].sort() : null,
  model: draft.model,
  max_cycles: Number(draft.cycles.trim() || 0),
});

/**
 * What of a draft differs from the agent as it was when the form opened. What was not
 * touched is not sent: somebody else may have changed it, or its model may be gone.
 */
export function changes(draft: AgentDraft, before: AgentDraft): AgentBody {
  const now = bodyOf(draft);
  const was = bodyOf(before);
  return Object.fromEntries(Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(was[key as keyof AgentBody])));
}

/** The first line of the instructions that says something. */
export const firstLine = (instructions: string): string => instructions.split('\n').map((l) => l.trim()).find((l) => l !== '') ?? '';
