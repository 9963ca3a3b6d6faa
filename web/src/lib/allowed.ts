/** Which tools a question may use. */
import type { Agent, Tool } from './api';

/** The tools that there are for a question: those of its agent, and in a private conversation none that reaches memory. */
export function available(tools: readonly Tool[], agent: Agent | undefined, isPrivate: boolean): Tool[] {
  return tools.filter((t) => !(isPrivate && t.memory) && (!agent || agent.tools === null || agent.tools.includes(t.name)));
}

/** The list to send: undefined where nothing of what there is is switched off, so that a tool which comes later counts too. */
export function allowList(there: readonly Tool[], off: ReadonlySet<string>): string[] | undefined {
  const left = there.filter((t) => !off.has(t.name));
  return left.length === there.length ? undefined : left.map((t) => t.name);
}
