/**
 * A run as the page draws it, built from packets by a pure function. The same
 * packets give the same blocks, whether they come live, after a reload or from
 * the store.
 */
import type {
  Channel,
  Document,
  FileInfo,
  HostCall,
  KnownObj,
  Outcome,
  Packet,
  Placement,
  StopReason,
  Support,
} from './packets';

/** What all blocks have: a key unique within one model's answer, and a place. */
interface Placed {
  key: string;
  turn: number;
  tab: number;
}

export interface ReasoningBlock extends Placed {
  kind: 'reasoning';
  text: string;
  done: boolean;
  durationMs: number;
}

export interface SupportMark {
  number: number;
  /** Unicode code points in the block's text, half open. */
  start: number;
  end: number;
  support: Support;
  reason: string;
}

export interface TextBlock extends Placed {
  kind: 'text';
  text: string;
  supports: SupportMark[];
  done: boolean;
}

export interface Output {
  channel: Channel;
  text: string;
}

/** A question that the host put to a person on behalf of a call. */
export interface Ask {
  id: string;
  what: 'approval' | 'input';
  summary: string;
  /** Empty while it is open. */
  resolution: string;
}

/** How a call stands that was held back while models are compared; '' where none was. */
export type Held = '' | 'waiting' | 'ran' | 'never';

export interface ToolBlock extends Placed {
  kind: 'tool';
  callId: string;
  tool: string;
  plugin: string;
  title: string;
  labels: string[];
  args: unknown;
  /** String arguments while the model writes them. */
  draftArgs: Record<string, string>;
  progress: string;
  fraction: number | null;
  outputs: Output[];
  documents: Document[];
  files: FileInfo[];
  memories: { operation: string; text: string }[];
  asks: Ask[];
  error: { kind: string; message: string } | null;
  notices: string[];
  held: Held;
  outcome: Outcome | null;
  durationMs: number;
  fuel: number | null;
  version: string;
  hostCalls: HostCall[];
  /** What an agent that runs inside this call is to find out; '' where none does. */
  task: string;
  /** Its blocks. */
  children: Block[];
}

/** A text of an agent inside a call: what it says on the way, and at last what it found out. */
export interface ReportBlock extends Placed {
  kind: 'report';
  text: string;
  /** The documents that it cites. */
  documents: Document[];
  done: boolean;
}

export interface NoticeBlock extends Placed {
  kind: 'notice';
  code: string;
  message: string;
}

export type Block = ReasoningBlock | TextBlock | ToolBlock | ReportBlock | NoticeBlock;

/** A document with the number that the screen shows for it. */
export interface Citation {
  number: number;
  document: Document;
}

/** One model's part of a run. */
export interface Answer {
  modelIndex: number;
  messageId: string;
  model: string;
  /** In drawing order: turn, then tab, then arrival. */
  blocks: Block[];
  citations: Citation[];
  error: { code: string; message: string; retryable: boolean } | null;
  inputTokens: number;
  outputTokens: number;
  stop: StopReason | null;
}

export interface Run {
  id: string;
  epoch: number;
  /** The cursor: the last packet taken in, 0 for none. */
  seq: number;
  sessionId: string;
  title: string;
  userMessageId: string;
  answers: Answer[];
  notices: { code: string; message: string }[];
  error: { code: string; message: string; retryable: boolean } | null;
  /** Why the run ended; null while it goes on. */
  stop: StopReason | null;
}

/** A run of which nothing has arrived yet. */
export function emptyRun(id: string, epoch: number): Run {
  return {
    id,
    epoch,
    seq: 0,
    sessionId: '',
    title: '',
    userMessageId: '',
    answers: [],
    notices: [],
    error: null,
    stop: null,
  };
}

/**
 * Takes packets in, in order. Packets of another run, of another epoch or
 * already seen change nothing; a gap stops the intake, so that the cursor stays
 * where the log is known to be whole and a resume from it fetches the rest.
 */
export function takePackets(run: Run, packets: readonly Packet[]): Run {
  let next = run;
  for (const packet of packets) {
    if (packet.run !== next.id || packet.epoch !== next.epoch || packet.seq <= next.seq) continue;
    if (packet.seq !== next.seq + 1) return next;
    next = { ...takePacket(next, packet), seq: packet.seq };
  }
  return next;
}

function takePacket(run: Run, packet: Packet): Run {
  const obj = packet.obj as KnownObj;
  const model = packet.placement.model_index;
  switch (obj.type) {
    case 'session_created':
      return { ...run, sessionId: obj.session_id, title: obj.title ?? '' };
    case 'run_started':
      return {
        ...run,
        userMessageId: obj.user_message_id,
        answers: obj.responses.map((r) => newAnswer(r.model_index, r.message_id, r.model)),
      };
    case 'stop':
      if (model === null) return { ...run, stop: obj.reason };
      break;
    case 'notice':
      if (model === null) return { ...run, notices: [...run.notices, { code: obj.code, message: obj.message }] };
      break;
    case 'error':
      if (model === null) return { ...run, error: { code: obj.code, message: obj.message, retryable: obj.retryable } };
      break;
  }
  if (model === null) return run;
  const known = run.answers.some((a) => a.modelIndex === model);
  const answers = known ? run.answers : [...run.answers, newAnswer(model, '', '')];
  return {
    ...run,
    answers: answers.map((a) => (a.modelIndex === model ? takeForAnswer(a, packet.placement, obj, packet.seq) : a)),
  };
}

function newAnswer(modelIndex: number, messageId: string, model: string): Answer {
  return {
    modelIndex,
    messageId,
    model,
    blocks: [],
    citations: [],
    error: null,
    inputTokens: 0,
    outputTokens: 0,
    stop: null,
  };
}

function takeForAnswer(answer: Answer, place: Placement, obj: KnownObj, seq: number): Answer {
  switch (obj.type) {
    case 'stop':
      return { ...answer, stop: obj.reason };
    case 'error':
      return { ...answer, error: { code: obj.code, message: obj.message, retryable: obj.retryable } };
    case 'usage':
      return {
        ...answer,
        inputTokens: answer.inputTokens + obj.input_tokens,
        outputTokens: answer.outputTokens + obj.output_tokens,
      };
    case 'citation_info': {
      if (answer.citations.some((c) => c.number === obj.citation_number)) return answer;
      const citation = { number: obj.citation_number, document: obj.document };
      return { ...answer, citations: [...answer.citations, citation] };
    }
    default:
      return { ...answer, blocks: takeForBlocks(answer.blocks, place, obj, seq) };
  }
}

/** Routes a packet to its block, or into the tool block that it is nested in. */
function takeForBlocks(blocks: Block[], place: Placement, obj: KnownObj, seq: number): Block[] {
  if (place.sub_turn_index === null) return takeAt(blocks, place.turn_index, place.tab_index, obj, seq);
  const sub = { turn: place.sub_turn_index, tab: place.sub_tab_index ?? 0 };
  return blocks.map((b) =>
    b.kind === 'tool' && b.turn === place.turn_index && b.tab === place.tab_index
      ? { ...b, children: takeAt(b.children, sub.turn, sub.tab, obj, seq) }
      : b,
  );
}

function takeAt(blocks: Block[], turn: number, tab: number, obj: KnownObj, seq: number): Block[] {
  const opened = openBlock(turn, tab, obj, seq);
  if (opened) return insert(blocks, opened);
  return blocks.map((b) => (b.turn === turn && b.tab === tab ? updateBlock(b, obj) : b));
}

/** The block that obj opens, or null where it opens none. */
function openBlock(turn: number, tab: number, obj: KnownObj, seq: number): Block | null {
  const placed = { turn, tab, key: `b${seq}` };
  switch (obj.type) {
    case 'reasoning_start':
      return { ...placed, kind: 'reasoning', text: '', done: false, durationMs: 0 };
    case 'intermediate_report_start':
      return { ...placed, kind: 'report', text: '', documents: [], done: false };
    case 'message_start':
      return { ...placed, kind: 'text', text: '', supports: [], done: false };
    case 'notice':
      // One about a call is shown on its card.
      if (obj.call_id) return null;
      return { ...placed, kind: 'notice', code: obj.code, message: obj.message };
    case 'tool_start':
      return {
        ...placed,
        kind: 'tool',
        callId: obj.call_id,
        tool: obj.tool,
        plugin: obj.plugin,
        title: obj.title || obj.tool,
        labels: obj.labels ?? [],
        args: undefined,
        draftArgs: {},
        progress: '',
        fraction: null,
        outputs: [],
        documents: [],
        files: [],
        memories: [],
        asks: [],
        error: null,
        notices: [],
        held: '',
        outcome: null,
        durationMs: 0,
        fuel: null,
        version: '',
        hostCalls: [],
        task: '',
        children: [],
      };
    default:
      return null;
  }
}

/** Adds a block behind those of its own or an earlier place. */
function insert(blocks: Block[], block: Block): Block[] {
  let at = blocks.length;
  while (at > 0 && isAfter(blocks[at - 1] as Block, block)) at--;
  return [...blocks.slice(0, at), block, ...blocks.slice(at)];
}

function isAfter(a: Placed, b: Placed): boolean {
  return a.turn > b.turn || (a.turn === b.turn && a.tab > b.tab);
}

function updateBlock(block: Block, obj: KnownObj): Block {
  switch (block.kind) {
    case 'reasoning':
      return updateReasoning(block, obj);
    case 'text':
      return updateText(block, obj);
    case 'report':
      return updateReport(block, obj);
    case 'tool':
      return updateTool(block, obj);
    case 'notice':
      return block;
  }
}

function updateReasoning(block: ReasoningBlock, obj: KnownObj): ReasoningBlock {
  if (obj.type === 'reasoning_delta') return { ...block, text: block.text + obj.reasoning };
  if (obj.type === 'reasoning_done') return { ...block, done: true, durationMs: obj.duration_ms };
  return block;
}

function updateReport(block: ReportBlock, obj: KnownObj): ReportBlock {
  if (obj.type === 'intermediate_report_delta') return { ...block, text: block.text + obj.content };
  if (obj.type === 'intermediate_report_cited_docs') return { ...block, documents: [...block.documents, ...(obj.documents ?? [])] };
  if (obj.type === 'intermediate_report_end') return { ...block, done: true };
  return block;
}

function updateText(block: TextBlock, obj: KnownObj): TextBlock {
  if (obj.type === 'message_delta') return { ...block, text: block.text + obj.content };
  if (obj.type === 'message_end') return { ...block, done: true };
  if (obj.type === 'citation_support') {
    const { citation_number: number, start, end, support } = obj;
    return { ...block, supports: [...block.supports, { number, start, end, support, reason: obj.reason ?? '' }] };
  }
  return block;
}

function updateTool(block: ToolBlock, obj: KnownObj): ToolBlock {
  if ('call_id' in obj && obj.call_id && obj.call_id !== block.callId) return block;
  switch (obj.type) {
    case 'tool_args_delta':
      return {
        ...block,
        draftArgs: { ...block.draftArgs, [obj.key]: (block.draftArgs[obj.key] ?? '') + obj.delta },
      };
    case 'tool_args':
      return { ...block, args: obj.arguments };
    case 'tool_progress':
      return { ...block, progress: obj.message ?? block.progress, fraction: obj.fraction ?? null };
    case 'tool_output':
      return { ...block, outputs: addOutput(block.outputs, obj.channel, obj.delta) };
    case 'tool_documents':
      return { ...block, documents: [...block.documents, ...(obj.documents ?? [])] };
    case 'tool_files':
      return { ...block, files: [...block.files, ...(obj.files ?? [])] };
    case 'tool_error':
      return { ...block, error: { kind: obj.kind, message: obj.message }, held: obj.held ? 'waiting' : '' };
    case 'memory_changed':
      return { ...block, memories: [...block.memories, { operation: obj.operation, text: obj.text }] };
    case 'notice':
      return { ...block, notices: [...block.notices, obj.message] };
    case 'research_agent_start':
      return { ...block, task: obj.research_task };
    case 'section_end':
      return {
        ...block,
        outcome: obj.outcome,
        durationMs: obj.duration_ms,
        fuel: obj.fuel ?? null,
        version: obj.plugin_version ?? '',
        hostCalls: obj.host_calls ?? [],
      };
    default:
      return updateAsks(block, obj);
  }
}

function updateAsks(block: ToolBlock, obj: KnownObj): ToolBlock {
  const resolve = (id: string, resolution: string): ToolBlock => ({
    ...block,
    asks: block.asks.map((a) => (a.id === id ? { ...a, resolution } : a)),
  });
  switch (obj.type) {
    case 'approval_request': {
      const ask: Ask = { id: obj.approval_id, what: 'approval', summary: obj.summary, resolution: '' };
      return { ...block, asks: [...block.asks, ask] };
    }
    case 'input_request': {
      const ask: Ask = { id: obj.input_id, what: 'input', summary: obj.message, resolution: '' };
      return { ...block, asks: [...block.asks, ask] };
    }
    case 'approval_resolved':
      return resolve(obj.approval_id, obj.decision);
    case 'input_resolved':
      return resolve(obj.input_id, obj.action);
    default:
      return block;
  }
}

function addOutput(outputs: Output[], channel: Channel, delta: string): Output[] {
  const last = outputs.at(-1);
  if (last?.channel !== channel) return [...outputs, { channel, text: delta }];
  return [...outputs.slice(0, -1), { channel, text: last.text + delta }];
}

/** The answer's text: exactly what the host stores for the message. */
export function answerText(answer: Answer): string {
  return answer.blocks.map((b) => (b.kind === 'text' ? b.text : '')).join('');
}

/** A text to take elsewhere: its markers become [n], and the sources stand below it. */
export function withSources(text: string, citations: readonly Citation[]): string {
  const known = new Map(citations.map((c) => [c.number, c.document]));
  const used = new Set<number>();
  const body = text.replace(/\[\[(\d{1,4})\]\]/g, (marker, digits: string) => {
    const number = Number(digits);
    if (!known.has(number)) return marker;
    used.add(number);
    return `[${number}]`;
  });
  if (used.size === 0) return body;
  const lines = [...used].sort((a, b) => a - b).map((n) => `[${n}] ${known.get(n)?.title ?? ''}${known.get(n)?.url ? ` ${known.get(n)?.url}` : ''}`);
  return `${body.trimEnd()}\n\n${lines.join('\n')}\n`;
}

/** The calls that an agent inside a call made, in order. */
export const callsOf = (block: ToolBlock): ToolBlock[] => block.children.filter((b): b is ToolBlock => b.kind === 'tool');

/** What an agent inside a call found out: its last text, behind which it did nothing more. */
export function reportOf(block: ToolBlock): ReportBlock | undefined {
  const last = block.children.at(-1);
  return last?.kind === 'report' ? last : undefined;
}

/**
 * A report with the numbers that the screen shows: markers of the documents that it
 * cites count from 1 in order of first use, those of others stay text.
 */
export function numbered(report: Pick<ReportBlock, 'text' | 'documents'>): { text: string; citations: Citation[] } {
  const citations: Citation[] = [];
  const text = report.text.replace(/\[\[(\d{1,6})\]\]/g, (marker, digits: string) => {
    const document = report.documents.find((d) => d.ref === Number(digits));
    if (!document) return marker;
    let known = citations.find((c) => c.document === document);
    if (!known) citations.push((known = { number: citations.length + 1, document }));
    return `[[${known.number}]]`;
  });
  return { text, citations };
}

/** Blocks in rows for drawing: the parallel calls of one turn share a row. */
export function rows(blocks: readonly Block[]): Block[][] {
  const out: Block[][] = [];
  for (const block of blocks) {
    const last = out.at(-1)?.[0];
    if (block.kind === 'tool' && last?.kind === 'tool' && last.turn === block.turn) out.at(-1)?.push(block);
    else out.push([block]);
  }
  return out;
}
