/**
 * The wire types that the page reads: packets, and the frames around them.
 * They mirror the protocol and nothing else; a field or a type that is not
 * here is ignored wherever it appears.
 */

/** Where a packet is drawn. All packets of one block share a placement. */
export interface Placement {
  turn_index: number;
  tab_index: number;
  sub_turn_index: number | null;
  sub_tab_index: number | null;
  /** null only for packets that belong to no model. */
  model_index: number | null;
}

/** One entry of a run's log. seq rises by exactly 1 within an epoch. */
export interface Packet {
  run: string;
  epoch: number;
  seq: number;
  placement: Placement;
  obj: Obj;
}

/** A source as the page shows it. ref is the model's number, never shown. */
export interface Document {
  id: string;
  ref?: number;
  title: string;
  url?: string;
  snippet: string;
  source: string;
  updated_at?: string;
}

export type Outcome = 'ok' | 'error' | 'denied' | 'timeout' | 'cancelled' | 'interrupted';
export type StopReason = 'completed' | 'user_cancelled' | 'error' | 'interrupted' | 'awaiting_user';
export type Support = 'quoted' | 'stated' | 'weak' | 'absent' | 'unchecked';
export type Channel = 'text' | 'stdout' | 'stderr' | 'markdown';

/** One thing that a tool asked of the host, and what was decided. */
export interface HostCall {
  capability: string;
  summary: string;
  decision: string;
  bytes: number;
}

export interface FileInfo {
  file_id: string;
  name: string;
  media_type: string;
  size: number;
}

/** Which message one model is going to write. */
export interface ModelResponse {
  model_index: number;
  message_id: string;
  model: string;
}

interface OfCall {
  call_id: string;
}

/** Every payload that the page draws. */
export type KnownObj =
  | { type: 'session_created'; session_id: string; title?: string }
  | { type: 'run_started'; user_message_id: string; responses: ModelResponse[] }
  | { type: 'top_level_branching'; turn_index: number; tabs: number[] }
  | {
      type: 'section_end';
      outcome: Outcome;
      duration_ms: number;
      fuel?: number;
      plugin_version?: string;
      host_calls?: HostCall[];
    }
  | { type: 'notice'; code: string; message: string; call_id?: string }
  | { type: 'error'; code: string; message: string; retryable: boolean; model_index?: number }
  | { type: 'usage'; input_tokens: number; output_tokens: number; cached_tokens?: number; cost?: number }
  | { type: 'stop'; reason: StopReason }
  | { type: 'reasoning_start' }
  | { type: 'reasoning_delta'; reasoning: string }
  | { type: 'reasoning_done'; duration_ms: number }
  | { type: 'message_start'; final_documents?: Document[] }
  | { type: 'message_delta'; content: string }
  | { type: 'citation_info'; citation_number: number; ref: number; document: Document }
  | { type: 'citation_support'; citation_number: number; start: number; end: number; support: Support; reason?: string }
  | { type: 'message_end' }
  | (OfCall & {
      type: 'tool_start';
      tool: string;
      tool_id?: string;
      plugin: string;
      title: string;
      icon?: string;
      labels: string[] | null;
      parent_call_id?: string;
    })
  | (OfCall & { type: 'tool_args_delta'; key: string; delta: string })
  | (OfCall & { type: 'tool_args'; arguments: unknown })
  | (OfCall & { type: 'tool_progress'; message?: string; fraction?: number })
  | (OfCall & { type: 'tool_output'; channel: Channel; delta: string })
  | (OfCall & { type: 'tool_documents'; documents: Document[] | null })
  | (OfCall & { type: 'tool_files'; files: FileInfo[] | null })
  | (OfCall & { type: 'tool_error'; kind: string; message: string; held?: boolean })
  | (OfCall & { type: 'approval_request'; approval_id: string; capability: string; summary: string; expires_at: string })
  | { type: 'approval_resolved'; approval_id: string; decision: string; by: string }
  | (OfCall & { type: 'input_request'; input_id: string; kind: string; message: string; url?: string })
  | { type: 'input_resolved'; input_id: string; action: string }
  | { type: 'research_agent_start'; research_task: string }
  | { type: 'intermediate_report_start' }
  | { type: 'intermediate_report_delta'; content: string }
  | { type: 'intermediate_report_cited_docs'; documents: Document[] | null }
  | { type: 'intermediate_report_end' }
  | (OfCall & { type: 'memory_changed'; operation: string; memory_id: string; text: string });

/** A payload as it arrives: known, or of a type that this page does not know. */
export type Obj = KnownObj | { type: `unknown:${string}` };

/** What a run is called on the wire. */
export interface RunRef {
  run: string;
  epoch: number;
}

/** The reply to a request of this connection. */
export interface Ack extends Partial<RunRef> {
  type: 'ack';
  id: string;
  session_id?: string;
  user_message_id?: string;
  message_id?: string;
  message_ids?: string[];
  /** The message as it is stored, where that is not what was sent. */
  text?: string;
  live_runs?: RunRef[];
  latest_run?: string;
  reset?: boolean;
}

export interface Nack {
  type: 'nack';
  id?: string;
  error: { code: string; message: string };
  run?: string;
}

/** What happens outside a run, or in another tab. Never replayed. */
export interface HostEvent {
  type: 'event';
  topic: string;
  id: string;
  change: string;
  data?: unknown;
}

export type ServerFrame =
  | Ack
  | Nack
  | HostEvent
  | { type: 'packets'; packets: Packet[] }
  | { type: 'heartbeat' }
  | { type: 'pong' };

/** Whom a question goes to, and what they may use. */
export interface Recipients {
  agent_id?: string;
  models?: string[];
  /** The only tools that may be used; all without it. */
  tools?: string[];
  /** The tool that has to be used first. */
  forced_tool?: string;
}

/** The body of a send, without what the connection adds. */
export interface SendBody extends Recipients {
  request_id: string;
  /** The person's time zone: what day it is depends on it. */
  time_zone?: string;
  session_id?: string;
  parent_message_id?: string;
  text: string;
  files?: string[];
  /** For a new session: nothing is remembered in it. */
  private?: boolean;
}

/** Ask for another answer to the question that message_id answers. */
export interface RegenerateBody {
  request_id: string;
  message_id: string;
  models?: string[];
}
