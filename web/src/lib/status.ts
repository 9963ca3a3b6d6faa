/** One short sentence for a screen reader: what the answer is doing. */
import type { Block, Run } from './run';

const ENDS: Record<string, string> = {
  completed: 'The answer is complete.',
  user_cancelled: 'The answer was stopped.',
  error: 'The answer ended with an error.',
  interrupted: 'The answer was broken off.',
  awaiting_user: 'The answer is a question to you.',
};

export function statusWords(run: Run | undefined, pending: boolean): string {
  if (pending) return 'Sending your question.';
  if (!run) return '';
  if (run.stop !== null) return ENDS[run.stop] ?? '';
  const last = run.answers.find((a) => a.stop === null)?.blocks.at(-1);
  return doing(last);
}

function doing(block: Block | undefined): string {
  if (block?.kind === 'tool' && block.outcome === null) return `Running ${block.title}.`;
  if (block?.kind === 'reasoning' && !block.done) return 'The model is thinking.';
  if (block?.kind === 'text') return 'The answer is being written.';
  return 'Waiting for the model.';
}
