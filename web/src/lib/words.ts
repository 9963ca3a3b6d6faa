/** How the page puts figures, times and states into words. */
import codes from './codes.json';
import { callsOf, type Ask, type Held, type ToolBlock } from './run';

const catalogue: Record<string, { message: string; retryable: boolean } | undefined> = codes;

/** The sentence for a code: what the host wrote, else the catalogue's own. */
export function sentence(code: string, message: string): string {
  return message !== '' ? message : (catalogue[code]?.message ?? 'Something went wrong. Your message is saved.');
}

/** A wall time: "0.2 s", "14 s", "2 min 5 s". */
export function duration(ms: number): string {
  if (ms < 100) return ms <= 0 ? '0 s' : '< 0.1 s';
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

/** Whole seconds, as reasoning is measured: "4 s". */
export function seconds(ms: number): string {
  const s = Math.max(1, Math.round(ms / 1000));
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} kB`;
  return `${(n / 1_000_000).toFixed(1)} MB`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** A date a person can place: today by the clock, else by the day. */
export function when(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  if (at.toDateString() === now.toDateString()) return at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const sameYear = at.getFullYear() === now.getFullYear();
  return at.toLocaleDateString('en-GB', sameYear ? { day: 'numeric', month: 'short' } : { day: 'numeric', month: 'short', year: 'numeric' });
}

/** The argument that says best what a call is about, for the card's one line. */
export function subject(block: Pick<ToolBlock, 'args' | 'draftArgs' | 'task'>): string {
  if (block.task !== '') return block.task;
  const args = decoded(block.args ?? block.draftArgs);
  if (typeof args === 'string') return args;
  if (typeof args !== 'object' || args === null) return '';
  const named = args as Record<string, unknown>;
  for (const key of ['queries', 'query', 'urls', 'url', 'path', 'text', ...Object.keys(named)]) {
    const value = named[key];
    if (typeof value === 'string' && value !== '') return value;
    if (Array.isArray(value)) {
      const texts = value.filter((v): v is string => typeof v === 'string');
      if (texts.length > 0) return texts.join(' · ');
    }
  }
  return '';
}

/** Arguments that the host did not take apart, such as those of a tool that does not exist. */
function decoded(args: unknown): unknown {
  if (typeof args !== 'string' || !args.startsWith('{')) return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

const HELD: Record<Exclude<Held, ''>, { short: string; long: string }> = {
  waiting: { short: 'runs when chosen', long: 'It would change something, and several models answer. It runs when this answer is chosen.' },
  ran: { short: 'held back at first', long: 'It was held back while several models answered. It ran when the answer went on, below.' },
  never: { short: 'did not run', long: 'It was held back while several models answered. It did not run, since the conversation went on without it.' },
};

/** Why a call that was held back has not run, or when it did. */
export function heldWords(held: Exclude<Held, ''>): string {
  return HELD[held].long;
}

/** Whether a call ended otherwise than it should; one that is only held back did not. */
export const hasFailed = (block: Pick<ToolBlock, 'outcome' | 'held'>): boolean => block.outcome !== null && block.outcome !== 'ok' && block.held === '';

/** What came of a call, or how far it is, in a few words; '' where there is nothing to say. */
export function toolResult(block: ToolBlock): string {
  if (block.held !== '') return HELD[block.held].short;
  if (block.outcome !== null && block.outcome !== 'ok') return outcomeWord(block.outcome);
  if (isAsking(block)) return 'waits for you';
  if (block.children.length > 0) return count(callsOf(block).length, 'call');
  if (block.documents.length > 0) return count(block.documents.length, 'document');
  if (block.files.length > 0) return count(block.files.length, 'file');
  if (block.outcome === null) return block.progress;
  return block.args !== undefined && block.tool.includes('search') ? 'nothing found' : '';
}

/** Whether the call waits for a person. */
export function isAsking(block: Pick<ToolBlock, 'asks' | 'outcome'>): boolean {
  return block.outcome === null && block.asks.some((a) => a.resolution === '');
}

const OUTCOMES: Record<string, string> = {
  ok: 'Done',
  error: 'Failed',
  denied: 'Denied',
  timeout: 'Timed out',
  cancelled: 'Stopped',
  interrupted: 'Broken off',
};

export function outcomeWord(outcome: string | null): string {
  return outcome === null ? 'Running' : (OUTCOMES[outcome] ?? outcome);
}

const ERROR_KINDS: Record<string, string> = {
  input: 'The model called the tool with arguments it could not use.',
  denied: 'The tool was not allowed to do this.',
  quota: 'The tool used up its allowance.',
  timeout: 'The tool took too long and was stopped.',
  unavailable: 'The tool is not available.',
  trap: 'The tool crashed inside its sandbox. Nothing else was touched.',
  output_too_large: 'The tool returned more than it may.',
  failed: 'The tool failed.',
};

export function toolErrorWords(kind: string): string {
  return ERROR_KINDS[kind] ?? 'The tool failed.';
}

const DECISIONS: Record<string, string> = {
  allow: 'allowed',
  ask: 'asked',
  deny: 'denied',
  once: 'allowed once',
  session: 'allowed for this conversation',
  always: 'always allowed',
  expired: 'nobody answered in time',
  cancelled: 'withdrawn',
  accept: 'answered',
  decline: 'declined',
  cancel: 'cancelled',
};

export function decisionWord(decision: string): string {
  return DECISIONS[decision] ?? decision;
}

export function askState(ask: Ask): string {
  return ask.resolution === '' ? 'waiting for an answer' : decisionWord(ask.resolution);
}

const LABELS: Record<string, string> = {
  private_data: 'reads your data',
  untrusted_content: 'brings in text from outside',
  egress: 'can send data out',
  writes: 'changes things',
};

export function labelWord(label: string): string {
  return LABELS[label] ?? label;
}
