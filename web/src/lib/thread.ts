/**
 * The conversation as it is drawn: the tree of messages becomes a list of turns
 * along one path, each with the other versions beside it.
 */
import type { Message } from './api';

export interface Turn {
  question: Message;
  /** Ids of the question's versions, itself among them, oldest first. */
  versions: string[];
  /** The answers of the chosen run, by model. */
  answers: Message[];
  /** The run that began those answers; '' where there is none. */
  run: string;
  /** The runs that went on with one of them. */
  later: string[];
  /** The model_index of the answer that the path goes through. */
  chosen: number;
  /** The runs that answered this question, oldest first. */
  runs: string[];
}

/** Returns the turns on the path through leaf; '' is the newest message. */
export function turns(messages: readonly Message[], leaf: string): Turn[] {
  const byId = new Map(messages.map((m) => [m.id, m]));
  const children = new Map<string, Message[]>();
  for (const m of messages) {
    const list = children.get(m.parent_id ?? '');
    if (list) list.push(m);
    else children.set(m.parent_id ?? '', [m]);
  }
  const path = pathThrough(byId, children, byId.get(leaf) ?? messages.at(-1));
  const out: Turn[] = [];
  for (const [i, question] of path.entries()) {
    if (question.role !== 'user') continue;
    const answers = (children.get(question.id) ?? []).filter((m) => m.role === 'assistant');
    const runs = [...new Set(answers.map((m) => m.run ?? ''))];
    const run = path[i + 1]?.run ?? runs.at(-1) ?? '';
    const shown = answers.filter((m) => (m.run ?? '') === run).sort((a, b) => (a.model_index ?? 0) - (b.model_index ?? 0));
    out.push({
      question,
      versions: (children.get(question.parent_id ?? '') ?? []).filter((m) => m.role === 'user').map((m) => m.id),
      answers: shown,
      run,
      later: shown.flatMap((m) => m.later_runs ?? []),
      chosen: path[i + 1]?.model_index ?? 0,
      runs,
    });
  }
  return out;
}

/** The turns that a question follows which is asked behind parent: 'root' is none, undefined is all. */
export function upTo(all: readonly Turn[], parent: string | undefined): readonly Turn[] {
  if (parent === undefined) return all;
  if (parent === 'root') return [];
  const at = all.findIndex((t) => t.question.id === parent || t.answers.some((a) => a.id === parent));
  return at < 0 ? all : all.slice(0, at + 1);
}

/** From the root to message, and on to the newest below it. */
function pathThrough(
  byId: ReadonlyMap<string, Message>,
  children: ReadonlyMap<string, Message[]>,
  message: Message | undefined,
): Message[] {
  const up: Message[] = [];
  const seen = new Set<string>();
  for (let m = message; m && !seen.has(m.id); m = byId.get(m.parent_id ?? '')) {
    seen.add(m.id);
    up.push(m);
  }
  const path = up.reverse();
  for (let m = message; m; ) {
    const next: Message | undefined = children.get(m.id)?.at(-1);
    if (!next || seen.has(next.id)) break;
    seen.add(next.id);
    path.push(next);
    m = next;
  }
  return path;
}
