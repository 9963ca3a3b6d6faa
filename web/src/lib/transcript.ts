/** A conversation as one Markdown text, to keep or to pass on. */
import type { Part } from './parts';
import { answerText, withSources } from './run';
import type { Turn } from './thread';

export interface Spoken {
  turn: Turn;
  parts: Part[];
  /** The agent that was asked, '' for none. */
  agent: string;
}

/** The text of an answer with its sources below it. Without its packets no source is known, and the markers go. */
function textOf(part: Part): string {
  if (part.answer) return withSources(answerText(part.answer), part.answer.citations);
  return (part.message?.text ?? '').replace(/\[\[\d{1,4}\]\]/g, '');
}

const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');

/** Writes the path that is shown: each question as a quotation, then who answered, and what. */
export function transcript(title: string, spoken: readonly Spoken[]): string {
  const pieces = [`# ${title === '' ? 'Conversation' : title}`];
  for (const { turn, parts, agent } of spoken) {
    const { question } = turn;
    const asked = new Date(question.created_at);
    const when = Number.isNaN(asked.getTime()) ? '' : `, ${asked.toISOString().slice(0, 10)}`;
    pieces.push('---', `**Question**${agent === '' ? '' : ` to ${agent}`}${when}`, quoted(question.text));
    if (question.files?.length) pieces.push(`With ${question.files.map((f) => f.name).join(', ')}`);
    for (const part of parts) {
      const text = textOf(part).trim();
      pieces.push(`**${part.name === '' ? 'Answer' : part.name}**`, text === '' ? '*No text.*' : text);
    }
  }
  return `${pieces.join('\n\n')}\n`;
}

/** A name that every file system takes. */
export function fileName(title: string): string {
  const words = title.normalize('NFC').replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '');
  return `${words === '' ? 'conversation' : Array.from(words).slice(0, 60).join('').replace(/-+$/, '')}.md`;
}
