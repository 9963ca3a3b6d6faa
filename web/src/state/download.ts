/** Gives the conversation that is shown to the person as a file. */
import { partsOf } from '../lib/parts';
import { fileName, transcript } from '../lib/transcript';
import { agents } from './agents.svelte';
import { conversation } from './conversation.svelte';

/** Fetches what is not there yet, and hands over the path that is shown as Markdown. */
export async function downloadConversation(): Promise<void> {
  for (const turn of conversation.turns) for (const run of [turn.run, ...turn.later]) await conversation.loadRun(run);
  const { turns, runs, title } = conversation;
  const text = transcript(
    title,
    turns.map((turn, i) => ({ turn, parts: partsOf(turn, runs, i === turns.length - 1), agent: agents.nameOf(turn.question.agent_id) })),
  );
  const address = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName(title);
  link.click();
  // The browser has begun to read it by the next turn of its loop.
  setTimeout(() => URL.revokeObjectURL(address));
}
