/** Which tools a question may use. */
import type { Agent, Tool } from './api';

/** The tools that there are for a question: those of its agent, and in a private conversation none that reaches memory. */
export function available(tools: readonly Tool[], agent: Agent | undefined, isPrivate: boolean): Tool[] {
  return tools.filter((t) => !(isPrivate && t.memory) && (!agent || agent.tools === null || agent.tools.includes(t.id)));
}

/** The host's own tool that hands tasks to agents. It is there only where an agent or a question names it. */
export const RESEARCH = { id: 'host/research_agent', name: 'research_agent', title: 'Research', note: 'hands parts of a question to agents that search on their own' };

/** What an agent names beyond the installed tools: tools of the host and of the model's provider, and some that are gone. */
export function beyond(tools: readonly Tool[], agent: Agent | undefined): string[] {
  return (agent?.tools ?? []).filter((id) => !tools.some((t) => t.id === id));
}

/** The identity of a tool that is called or was kept by its name, as before tools had identities. */
export function idOf(tools: readonly Tool[], word: string): string {
  return word === RESEARCH.name ? RESEARCH.id : (tools.find((t) => t.name === word)?.id ?? word);
}

/**
 * The list to send: undefined where nothing of what there is is switched off and nothing
 * on that is not there by itself, so that a tool which comes later counts too.
 */
export function allowList(there: readonly string[], off: ReadonlySet<string>, on: readonly string[]): string[] | undefined {
  const left = there.filter((id) => !off.has(id));
  const more = on.filter((id) => !there.includes(id));
  return left.length === there.length && more.length === 0 ? undefined : [...left, ...more];
}
