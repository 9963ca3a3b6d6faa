/** The answers of one turn as they are drawn: each with all that its runs wrote. */
import type { Message } from './api';
import { joined, withHeld } from './joined';
import type { Answer, Run } from './run';
import type { Turn } from './thread';

export interface Part {
  index: number;
  /** The model's. */
  name: string;
  message: Message | undefined;
  /** Absent where the packets are not there; the message's text stands in. */
  answer: Answer | undefined;
}

/** Puts a turn's answers together; last says that the conversation did not go on from it. */
export function partsOf(turn: Turn, runs: Readonly<Record<string, Run>>, last: boolean): Part[] {
  const run = runs[turn.run];
  if (!run || run.answers.length === 0) {
    return turn.answers.map((message, i) => ({ index: message.model_index ?? i, name: message.model ?? '', message, answer: undefined }));
  }
  return run.answers.map((first) => {
    const message = turn.answers.find((m) => m.id === first.messageId);
    const later = message?.later_runs ?? [];
    const own = withHeld(first, later.length > 0 ? 'ran' : last ? 'waiting' : 'never');
    return { index: first.modelIndex, name: first.model, message, answer: joined(own, later.map((id) => runs[id])) };
  });
}
