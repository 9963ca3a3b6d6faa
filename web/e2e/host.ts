/** What the tests know of the host and the model servers that global setup started. */
import { fileURLToPath } from 'node:url';

/** The signed-in browser state of the operator. */
export const STATE_FILE = fileURLToPath(new URL('./.results/state.json', import.meta.url));

/** The models of bulkhead.yaml, by the script that answers. */
export const MODELS = ['slow', 'search', 'research', 'hostile', 'barrage', 'rich', 'parallel', 'cut', 'keeper', 'holder'] as const;

/** Words of one answer of the model slow. */
export const SLOW_WORDS = 60;

function named(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: global setup did not run`);
  return value;
}

/** Where the host serves, without a slash at the end. */
export const hostUrl = (): string => named('BULKHEAD_E2E_URL');

/** The address of the model server search, ending in /v1. */
export const searchUrl = (): string => named('BULKHEAD_E2E_SEARCH');

/** Lets the model slow say its next n words, over all its answers; or research its next n pieces of reports. */
export async function poke(n: number, model: 'slow' | 'research' = 'slow'): Promise<void> {
  const reply = await fetch(`${named(`BULKHEAD_E2E_${model.toUpperCase()}`)}/poke?n=${n}`, { method: 'POST' });
  if (!reply.ok) throw new Error(`the model server refused the poke with ${reply.status}`);
}

/** The first n words of an answer of the model slow. */
export function slowText(n: number): string {
  return Array.from({ length: n }, (_, i) => `word${i + 1}`).join(' ');
}
