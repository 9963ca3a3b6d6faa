/**
 * Starts what the tests run against: the real binary on a fresh data folder with
 * this repository's documents, and scripted model servers that it reaches
 * through its real client. Returns what stops them.
 */
import { request } from '@playwright/test';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { HOSTILE_MESSAGES } from './hostile';
import { MODELS, SLOW_WORDS, STATE_FILE } from './host';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'pdk/README.md'];
/** How long a process may take to say that it serves, in milliseconds: more than any machine needs. */
const START_MS = 180_000;

export const HOSTILE = [
  '![pixel](https://foreign.invalid/pixel.png) ',
  '<img src="https://foreign.invalid/raw.png" onerror="document.title=\'broken\'"> ',
  '[script](javascript:document.title=1) [page](https://foreign.invalid/page)\n\n',
  '<script src="https://foreign.invalid/s.js"></script>\n\n',
  '<style>@import "https://foreign.invalid/s.css"</style>\n\n',
  '| a |\n|:-:|\n| ![x][ref] |\n\n[ref]: https://foreign.invalid/ref.png\n\nThe end [[7]]',
];

/** An answer with everything that Markdown can bring. */
export const RICH = [
  '## Tides at Skerryvore\n\nThe height follows $h(t) = A\\cos(\\omega t + \\varphi)$, so the lamp is lit *before* high water.\n\n',
  '$$\\int_0^T h(t)\\,dt = \\frac{A}{\\omega}\\left(\\sin(\\omega T + \\varphi) - \\sin\\varphi\\right)$$\n\n',
  '| day | high water | oil |\n|:--|--:|:-:|\n| Monday | 4.2 m | 40 l |\n| Tuesday | 4.4 m | 38 l |\n\n',
  '1. Read the gauge.\n2. Compare with the table:\n   - by day\n   - by moon\n\n> A keeper who guesses keeps nothing.\n\n',
  '```go\n// Lit tells whether the lamp burns.\nfunc Lit(now time.Time) bool {\n\treturn now.Hour() >= 18 || now.Hour() < 6\n}\n```\n\n',
  'More in the [almanac](https://foreign.invalid/almanac) and in `keeper.log`.',
].join('');

/** Three calls side by side, one of a tool that does not exist, then an answer. */
const PARALLEL = [
  {
    text: ['I look in three places.'],
    tool_calls: [
      { id: 'a', name: 'internal_search', arguments: { queries: ['declare a capability'] } },
      { id: 'b', name: 'tide_table', arguments: { place: 'Skerryvore' } },
      { id: 'c', name: 'moon_phase', arguments: { day: 'Monday' } },
    ],
  },
  { text: ['It is told in the guide [1].'] },
];

/** An answer that reaches the limit of words, and the rest of it. */
const CUT = [{ text: ['A long sto'], finish: 'length' }, { text: ['ry about the light.'] }];

/** A call that changes something, what there is to say when it was held back, when asked again, and when it has run. */
const KEEPER = [
  { text: ['I keep that.'], tool_calls: [{ id: 'a', name: 'add_memory', arguments: { text: 'The lamp burns colza oil.' } }] },
  { text: ['It waits for you.'] },
  { text: ['I said it already.'] },
  { text: ['It is kept now.'] },
];

/** 200 KB of everything that Markdown can bring, in the pieces of a fast model. */
const LONG = [...Array.from({ length: 170 }, (_, i) => RICH.replace('## Tides', `## ${i + 1}. Tides`)).join('\n\n').matchAll(/[^]{1,40}/g)].map((m) => m[0]);

const inPieces = (text: string): string[] => text.match(/[^]{1,4000}/g) ?? [];

const children: ChildProcess[] = [];

/** Starts a program and waits for a line of its stdout that find recognises. */
function start(command: string, args: string[], find: (line: string) => string | undefined): Promise<string> {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString()));
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`${command} did not say that it serves. It said:\n${said}`)), START_MS);
    child.once('exit', (code) => failed(new Error(`${command} ended with ${code}. It said:\n${said}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      said += `${line}\n`;
      const found = find(line);
      if (found === undefined) return;
      clearTimeout(timer);
      done(found);
    });
  });
}

async function startModels(folder: string): Promise<Map<string, string>> {
  const program = join(folder, 'scriptserver');
  execFileSync('go', ['build', '-o', program, './host/llm/llmtest/scriptserver'], { cwd: ROOT, stdio: 'inherit' });
  const hostile = join(folder, 'hostile.json');
  writeFileSync(hostile, JSON.stringify([{ text: HOSTILE }]));
  const written = (name: string, replies: unknown): string => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(replies));
    return file;
  };
  const scripts: Record<(typeof MODELS)[number], string[]> = {
    slow: ['--script', 'slow', '--words', String(SLOW_WORDS)],
    search: ['--script', 'search'],
    research: ['--script', 'research'],
    hostile: ['--script', hostile],
    barrage: ['--script', written('barrage', HOSTILE_MESSAGES.map((text) => ({ text: inPieces(text) })))],
    rich: ['--script', written('rich', [{ reasoning: ['Two parts: ', 'a table and a formula.'], text: [RICH] }])],
    cut: ['--script', written('cut', Array.from({ length: 10 }, () => CUT).flat())],
    keeper: ['--script', written('keeper', KEEPER)],
    holder: ['--script', written('holder', Array.from({ length: 10 }, () => KEEPER.slice(0, 2)).flat())],
    parallel: ['--script', written('parallel', Array.from({ length: 40 }, () => PARALLEL).flat())],
  };
  const urls = new Map<string, string>();
  const serve = async (name: string, args: string[]): Promise<unknown> =>
    urls.set(name, await start(program, args, (line) => /^http:\S+/.exec(line)?.[0]));
  for (const name of MODELS) await serve(name, scripts[name]);
  // Only what is measured needs it.
  if (process.env['BULKHEAD_E2E_LONG']) await serve('long', ['--script', written('long', [{ text: LONG, interval_ms: 2 }])]);
  return urls;
}

/** Where nothing listens: no port that was free a moment ago, which another process may have by now. */
const NOWHERE = 'http://127.0.0.1:1/v1';

function writeConfig(file: string, models: Map<string, string>): void {
  const entry = (name: string, url: string) =>
    [`  - name: ${name}`, '    provider: openai', `    base_url: ${url}`, '    model: scripted'].join('\n');
  const entries = [...models].map(([name, url]) => entry(name, url));
  entries.push(entry('absent', NOWHERE));
  writeFileSync(
    file,
    ['probe: false', 'default_model: extractive', 'models:', '  - name: extractive', '    provider: extractive', ...entries, ''].join('\n'),
  );
}

export default async function setup(): Promise<() => void> {
  const binary = resolve(ROOT, process.env['BULKHEAD_BIN'] ?? 'bin/bulkhead');
  if (!existsSync(binary)) throw new Error(`${binary} is missing: run task build, or set BULKHEAD_BIN`);
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-e2e-'));
  const stop = (): void => {
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await startAll(binary, folder);
  } catch (error) {
    stop();
    throw error;
  }
  return stop;
}

async function startAll(binary: string, folder: string): Promise<void> {
  const data = join(folder, 'data');
  mkdirSync(data);
  const config = join(data, 'bulkhead.yaml');
  const models = await startModels(folder);
  writeConfig(config, models);
  const common = ['--data', data, '--config', config];
  execFileSync(binary, ['knowledge', 'add', ...common, ...DOCUMENTS], { cwd: ROOT, stdio: 'inherit' });
  const url = await start(binary, ['serve', ...common, '--listen', '127.0.0.1:0'], (line) => /^Bulkhead is serving at (http:\S+)/.exec(line)?.[1]);
  const said = execFileSync(binary, ['user', 'link', 'owner', ...common], { cwd: ROOT, encoding: 'utf8' });
  const token = /\/sign-in\?token=\S+/.exec(said)?.[0];
  if (token === undefined) throw new Error(`user link printed no link but: ${said}`);
  await signIn(url, token);
  process.env['BULKHEAD_E2E_URL'] = url;
  process.env['BULKHEAD_E2E_SEARCH'] = models.get('search') ?? '';
  process.env['BULKHEAD_E2E_RESEARCH'] = (models.get('research') ?? '').replace(/\/v1$/, '');
  process.env['BULKHEAD_E2E_SLOW'] = (models.get('slow') ?? '').replace(/\/v1$/, '');
}

async function signIn(url: string, path: string): Promise<void> {
  mkdirSync(dirname(STATE_FILE), { recursive: true });
  const context = await request.newContext({ baseURL: url });
  const reply = await context.get(path);
  if (!reply.ok()) throw new Error(`signing in gave ${reply.status()}: ${await reply.text()}`);
  await context.storageState({ path: STATE_FILE });
  await context.dispose();
  await ready(`${url}/readyz`);
}

/** How long the built-in plugins may take to be compiled, in milliseconds. */
const READY_MS = 600_000;

/** Waits until the built-in plugins are compiled, so that no test waits for them. */
async function ready(url: string): Promise<void> {
  for (const end = Date.now() + READY_MS; ; ) {
    const reply = await fetch(url);
    if (reply.ok) return;
    if (Date.now() > end) throw new Error(`the host is not ready: ${await reply.text()}`);
    await new Promise((done) => setTimeout(done, 250));
  }
}
