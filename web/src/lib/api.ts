/**
 * The REST calls that the page makes, typed. Every failure is a Failure with a
 * sentence for a person; a 401 has the code signed_out.
 */
import type faults from './faults.json';
import type { Packet, RunRef } from './packets';

export interface User {
  id: string;
  name: string;
  operator: boolean;
}

export interface Model {
  name: string;
  provider: string;
  model: string;
  note?: string;
  context_tokens?: number;
  /** Whether it sees pictures. */
  vision?: boolean;
  /** Where it comes from and is reached; only an operator is told. */
  origin?: 'configured' | 'added' | 'found' | 'builtin';
  base_url?: string;
  has_key?: boolean;
}

export interface ModelList {
  models: Model[] | null;
  default: string;
  /** Whether the host looks for model servers on its machine. */
  looks?: boolean;
}

/** What a model to add or to test is described by. */
export interface NewModel {
  name: string;
  base_url?: string;
  model?: string;
  api_key?: string;
  context_tokens?: number;
  /** openai where it is left out. */
  provider?: string;
  native_tools?: string;
  reasoning?: string;
  vision?: string;
  parallel_tools?: string;
  max_output_tokens?: number;
  first_token_timeout?: string;
  api?: string;
  keep_alive?: string;
  native_search?: boolean;
  default?: boolean;
}

export interface TrialReport {
  works: boolean;
  checks: { name: string; state: 'ok' | 'doubtful' | 'failed' | 'skipped'; message: string }[];
  first_ms?: number;
}

export interface Tool {
  /** Its identity, such as search/internal_search; name is what models call it by. */
  id: string;
  name: string;
  title: string;
  plugin: string;
  description: string;
  labels: string[] | null;
  /** It reads or writes memories, which a private conversation does not have. */
  memory?: boolean;
}

/** What a plugin may do. */
export interface Grant {
  capability: string;
  mode: 'allow' | 'ask' | 'deny';
  /** In plain words. */
  summary: string;
}

/** A tool as it would be offered. */
export interface HeldTool {
  name: string;
  title?: string;
  description: string;
  input_schema: unknown;
  output_schema?: unknown;
  /** As it was seen last; absent for one that is new. */
  before?: HeldTool;
}

/** An installed plugin as an operator sees it. */
export interface Plugin {
  name: string;
  version: string;
  title: string;
  description: string;
  builtin: boolean;
  enabled: boolean;
  /** The tools that are not offered until somebody has looked at them as they are now. */
  held: HeldTool[] | null;
  /** What they are accepted by; absent where none is held. */
  held_digest?: string;
  grants: Grant[] | null;
}

/** A way to answer that an operator set up. */
export interface Agent {
  id: string;
  name: string;
  instructions: string;
  /** The identities of its tools, and what models call them by; null for all. */
  tools: string[] | null;
  tool_names: string[] | null;
  model?: string;
  max_cycles?: number;
  created_at: string;
  updated_at: string;
}

/** What a new agent is made of, or what changes in one. */
export interface AgentBody {
  name?: string;
  instructions?: string;
  tools?: string[] | null;
  model?: string;
  /** 0 for the host's limit. */
  max_cycles?: number;
}

export interface Session {
  id: string;
  title: string;
  created_at: string;
  updated_at: string;
  /** Nothing is remembered in it, and nothing that was remembered is used. */
  private?: boolean;
  /** It stands before the others in the list. */
  pinned?: boolean;
  live_run?: string;
  /** The message that the conversation goes on from; only in a single session. */
  leaf?: string;
}

export type MessageStatus = 'running' | 'completed' | 'user_cancelled' | 'error' | 'interrupted' | 'awaiting_user';

export interface Message {
  id: string;
  parent_id?: string;
  role: 'user' | 'assistant';
  text: string;
  model?: string;
  model_index?: number;
  /** The agent that was asked, or that answered; it may be gone. */
  agent_id?: string;
  run?: string;
  /** The runs that went on with the answer, oldest first. */
  later_runs?: string[];
  status: MessageStatus;
  created_at: string;
  /** What the person attached. */
  files?: FileRef[];
}

/** A file as the message that carries it names it. */
export interface FileRef {
  id: string;
  name: string;
  media_type: string;
  bytes: number;
  /** The file was deleted. */
  gone?: boolean;
}

export interface StoredFile extends FileRef {
  encoding: string;
  /** What reading it took, in the reply to an upload. */
  note?: string;
  characters: number;
  lines: number;
  created_at: string;
}

export interface Memory {
  id: string;
  text: string;
  /** The plugin that wrote it last; absent for the person. */
  plugin?: string;
  session_id?: string;
  created_at: string;
  updated_at: string;
}

export interface SessionDetail {
  session: Session;
  messages: Message[];
  live_runs: RunRef[];
}

export interface StoredDocument {
  id: string;
  title: string;
  uri: string;
  media_type: string;
  bytes: number;
  chunks: number;
  added_at: string;
  updated_at: string;
}

export interface UploadResult {
  documents: (StoredDocument & { status: 'added' | 'updated' | 'unchanged'; note?: string })[];
  failed?: { name: string; error: { code: string; message: string } }[] | null;
}

/**
 * Why a call failed: a code of the host's catalogue, or one of the page's own where
 * the host did not answer or answered with something else.
 */
export type FaultCode = keyof typeof faults | 'failed' | 'unreachable';

/** A call that did not give what was asked for; message is for a person. */
export class Failure extends Error {
  constructor(
    readonly code: FaultCode,
    message: string,
    readonly status: number,
    /** The setting that is wrong, '' where it is none. */
    readonly field = '',
  ) {
    super(message);
  }
}

const BASE = '/api/v1';

/** Reads what went wrong from a reply that is not 2xx. */
function failure(status: number, text: string): Failure {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string; message?: string; field?: string } };
    if (error?.message) return new Failure((error.code ?? 'failed') as FaultCode, error.message, status, error.field);
  } catch {
    // Not JSON: something other than the host answered.
  }
  return new Failure('failed', `The host answered with status ${status} and no explanation.`, status);
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: { Accept: 'application/json' } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, 'Content-Type': 'application/json' };
  }
  let reply: Response;
  try {
    reply = await fetch(BASE + path, init);
  } catch {
    throw new Failure('unreachable', 'The host does not answer. Check that bulkhead serve is running.', 0);
  }
  const text = await reply.text();
  if (!reply.ok) throw failure(reply.status, text);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

const id = encodeURIComponent;

export const me = () => call<{ user: User; version: string }>('GET', '/me');
export const signOut = () => call<void>('POST', '/sign-out');
export const models = () => call<ModelList>('GET', '/models');
export const addModel = (model: NewModel) => call<ModelList>('POST', '/models', model);
export const removeModel = (name: string) => call<void>('DELETE', `/models/${id(name)}`);
export const chooseModel = (name: string) => call<ModelList>('PUT', '/models/default', { name });
export const refreshModels = () => call<ModelList>('POST', '/models/refresh');
export const testModel = (model: NewModel) => call<TrialReport>('POST', '/models/test', model);
export const modelOffers = (provider: string, base_url: string, api_key: string) => call<{ models: string[] }>('POST', '/models/offers', { provider, base_url, api_key });
export const plugins = () => call<{ plugins: Plugin[] | null }>('GET', '/plugins');
/** Offers the held tools of a plugin that were seen under a digest. */
export const acceptTools = (name: string, seen: string) => call<{ plugins: Plugin[] | null }>('POST', `/plugins/${id(name)}/accept`, { seen });
export const agents = () => call<{ agents: Agent[] | null }>('GET', '/agents');
export const addAgent = (body: AgentBody) => call<{ agent: Agent }>('POST', '/agents', body);
export const changeAgent = (aid: string, body: AgentBody) => call<{ agent: Agent }>('PATCH', `/agents/${id(aid)}`, body);
export const removeAgent = (aid: string) => call<void>('DELETE', `/agents/${id(aid)}`);
/** Deletes while the page is going away; nobody is left to hear the outcome. */
export const removeAgentAtLast = (aid: string) => void fetch(`${BASE}/agents/${id(aid)}`, { method: 'DELETE', keepalive: true });
export const tools = () => call<{ tools: Tool[] | null }>('GET', '/tools');

export function sessions(before = ''): Promise<{ sessions: Session[] | null; more: boolean }> {
  return call('GET', `/sessions?limit=50${before === '' ? '' : `&before=${id(before)}`}`);
}
export const session = (sid: string) => call<SessionDetail>('GET', `/sessions/${id(sid)}`);
export const renameSession = (sid: string, title: string) => call<unknown>('PATCH', `/sessions/${id(sid)}`, { title });
export const pinSession = (sid: string, pinned: boolean) => call<unknown>('PATCH', `/sessions/${id(sid)}`, { pinned });
export const deleteSession = (sid: string) => call<void>('DELETE', `/sessions/${id(sid)}`);
/** Deletes while the page is going away; nobody is left to hear the outcome. */
export const deleteSessionAtLast = (sid: string) => void fetch(`${BASE}/sessions/${id(sid)}`, { method: 'DELETE', keepalive: true });

export async function runPackets(run: string): Promise<{ epoch: number; packets: Packet[]; done: boolean }> {
  const first = await call<RunRef & { packets: Packet[] | null; done: boolean }>('GET', `/runs/${id(run)}/packets?after=0`);
  return { epoch: first.epoch, packets: first.packets ?? [], done: first.done };
}

export const documents = () => call<{ documents: StoredDocument[] | null }>('GET', '/documents');
export const readDocument = (did: string) => call<StoredDocument & { text: string }>('GET', `/documents/${id(did)}`);
export const removeDocument = (did: string) => call<void>('DELETE', `/documents/${id(did)}`);

export const memories = () => call<{ memories: Memory[] | null }>('GET', '/memories');
export const addMemory = (text: string) => call<{ memory: Memory }>('POST', '/memories', { text });
export const changeMemory = (mid: string, text: string) => call<{ memory: Memory }>('PATCH', `/memories/${id(mid)}`, { text });
export const removeMemory = (mid: string) => call<void>('DELETE', `/memories/${id(mid)}`);

export const readFile = (fid: string) => call<StoredFile & { text: string }>('GET', `/files/${id(fid)}`);
/** The kinds of pictures that the host tells; it never names a text so. */
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
export const isPicture = (file: { media_type: string }) => PICTURES.includes(file.media_type);
export const pictureAddress = (fid: string) => `${BASE}/files/${id(fid)}/picture`;
export const removeFile = (fid: string) => call<void>('DELETE', `/files/${id(fid)}`);

export interface AttachResult {
  files: StoredFile[];
  failed?: { name: string; error: { code: string; message: string } }[] | null;
}

/** Uploads one file into Knowledge; progress gets the part sent, 0 to 1. */
export const uploadDocument = (file: File, progress: (part: number) => void) => upload<UploadResult>('/documents', file, progress);

/** Uploads one file to be attached to a question. */
export const uploadFile = (file: File, progress: (part: number) => void) => upload<AttachResult>('/files', file, progress);

function upload<T>(path: string, file: File, progress: (part: number) => void): Promise<T> {
  // fetch reports no upload progress, XMLHttpRequest does.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.upload.onprogress = (e) => progress(e.lengthComputable && e.total > 0 ? e.loaded / e.total : 0);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText) as T);
      else reject(failure(request.status, request.responseText));
    };
    request.onerror = () => reject(new Failure('unreachable', 'The upload broke off. The file was not added.', 0));
    request.open('POST', BASE + path);
    const form = new FormData();
    form.append('file', file, file.name);
    request.send(form);
  });
}
