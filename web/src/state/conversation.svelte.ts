/**
 * The conversation on screen: its messages, the runs that wrote them, and the
 * question that is on its way. It keeps to one session at a time; what comes
 * late for another is dropped.
 */
import * as api from '../lib/api';
import type { Ack, Packet, Recipients, SendBody } from '../lib/packets';
import { emptyRun, takePackets, type Run } from '../lib/run';
import { Disconnected, Refused } from '../lib/socket';
import { turns } from '../lib/thread';
import { attachments } from './attachments.svelte';
import { drafts } from './draft';
import { link } from './link.svelte';
import { panel } from './panel.svelte';
import { loadPending, loadPendingFiles, newRequestId, storePending, storePendingFiles } from './pending';
import { chatAddress, route } from './route.svelte';

/** How many of the last turns are loaded at once; earlier ones come as they are scrolled to. */
const FIRST_TURNS = 4;

class Conversation {
  sessionId = $state('');
  title = $state('');
  /** Nothing is remembered in this conversation; a person chooses it before the first question. */
  private = $state(false);
  messages = $state.raw<api.Message[]>([]);
  leaf = $state('');
  runs = $state.raw<Record<string, Run>>({});
  loading = $state(false);
  /** Why the session can't be shown; '' while it can. */
  loadError = $state('');
  /** Why the last question was not taken; '' while there is no reason. */
  sendError = $state('');
  pending = $state.raw<SendBody | null>(null);
  /** The files that the pending question carries. */
  pendingFiles = $state.raw<api.FileRef[]>([]);
  /** The answer shown of a run with several models: the next question goes on from it. */
  shown = $state.raw<Record<string, number>>({});
  /** The run that was told to stop. */
  #stopped = $state('');

  turns = $derived(turns(this.messages, this.leaf));
  /** The run that writes into this session now, or ''. */
  liveRun = $derived.by(() => {
    const turn = this.turns.at(-1);
    if (!turn || turn.run === '') return '';
    const all = [turn.run, ...turn.later];
    const writing = all.find((id) => this.runs[id]?.stop === null);
    if (writing !== undefined) return writing;
    const unread = turn.answers.find((a) => a.status === 'running')?.later_runs?.at(-1) ?? turn.run;
    return !this.runs[unread] && turn.answers.some((a) => a.status === 'running') ? unread : '';
  });

  stopping = $derived(this.#stopped !== '' && this.#stopped === this.liveRun);
  /** What is known of the run that wrote last. */
  newestRun = $derived.by(() => {
    const turn = this.turns.at(-1);
    const run = this.liveRun !== '' ? this.liveRun : (turn?.answers.find((a) => a.model_index === turn.chosen)?.later_runs?.at(-1) ?? turn?.run ?? '');
    return this.runs[run];
  });

  /** Runs when a session began or its run ended, so that the list can follow. */
  onChange: () => void = () => undefined;
  /** Runs when a question was taken: the conversation that it was asked in, '' for a new one, and that one's id now. */
  onAccepted: (before: string, session: string) => void = () => undefined;

  #flushing = false;
  #loading = new Set<string>();
  #queue = new Map<string, Packet[]>();
  #scheduled = false;

  constructor() {
    this.pending = loadPending();
    if (this.pending) this.pendingFiles = loadPendingFiles();
    link.listen({
      open: () => void this.#connected(),
      packets: (run, packets) => this.#enqueue(run, packets),
      reset: (run, epoch) => {
        this.#queue.delete(run);
        this.#setRun(emptyRun(run, epoch));
      },
      lost: (run) => void this.#loadRun(run),
      event: (event) => {
        const about = (event.data as { session_id?: string } | undefined)?.session_id ?? event.id;
        const mine = (event.topic === 'session' || event.topic === 'run') && about === this.sessionId;
        if (mine || event.change === 'missed') void this.refresh();
      },
    });
  }

  /** Shows a session; '' is a new one. */
  async open(sessionId: string): Promise<void> {
    if (sessionId === this.sessionId && (this.messages.length > 0 || sessionId === '')) return;
    for (const run of Object.keys(this.runs)) link.socket?.unfollow(run);
    // Another conversation has another Source 1.
    panel.leave();
    this.sessionId = sessionId;
    this.title = '';
    this.private = false;
    this.messages = [];
    this.leaf = '';
    this.runs = {};
    this.shown = {};
    this.loadError = '';
    this.sendError = '';
    this.#stopped = '';
    if (sessionId === '') return;
    this.loading = true;
    await this.refresh();
    if (this.sessionId === sessionId) this.loading = false;
  }

  /** Fetches the session anew and joins the runs that are live. */
  async refresh(): Promise<void> {
    const sessionId = this.sessionId;
    if (sessionId === '') return;
    try {
      const detail = await api.session(sessionId);
      if (this.sessionId !== sessionId) return;
      this.title = detail.session.title;
      this.private = detail.session.private ?? false;
      this.messages = detail.messages;
      this.leaf = detail.session.leaf ?? '';
      this.loadError = '';
    } catch (error) {
      if (this.sessionId !== sessionId) return;
      // What is on screen stays; only an empty screen needs the reason.
      if (this.messages.length === 0) this.loadError = (error as Error).message;
      return;
    }
    await this.#join(sessionId);
  }

  /** Follows the session's live runs and loads the others of the shown path. */
  async #join(sessionId: string): Promise<void> {
    const socket = link.socket;
    const live = new Set<string>();
    if (socket?.isOpen) {
      try {
        const ack = await socket.request({ type: 'attach', session_id: sessionId });
        if (this.sessionId !== sessionId) return;
        for (const ref of ack.live_runs ?? []) {
          live.add(ref.run);
          if (!this.runs[ref.run]) this.#setRun(emptyRun(ref.run, ref.epoch));
          socket.follow(ref);
        }
      } catch (error) {
        // A lost line comes back and joins again; a refusal leaves the stored text.
        if (error instanceof Disconnected) return;
      }
    }
    const missing = this.turns
      .slice(-FIRST_TURNS)
      .flatMap((t) => [t.run, ...t.later])
      .filter((run) => run !== '' && !live.has(run));
    await Promise.all(missing.map((run) => this.loadRun(run)));
  }

  /** Loads the packets of a stored run that comes into view, once. */
  async loadRun(run: string): Promise<void> {
    if (run === '' || this.#loading.has(run) || link.socket?.follows(run) || (this.runs[run]?.stop ?? null) !== null) return;
    this.#loading.add(run);
    await this.#loadRun(run);
    this.#loading.delete(run);
  }

  /** Loads a stored run; without it the answer's stored text is shown. */
  async #loadRun(run: string): Promise<void> {
    const sessionId = this.sessionId;
    try {
      const stored = await api.runPackets(run);
      if (this.sessionId !== sessionId || link.socket?.follows(run)) return;
      this.#queue.delete(run);
      this.#setRun(takePackets(emptyRun(run, stored.epoch), stored.packets));
    } catch {
      // The stored text of the message stands in.
    }
  }

  async #connected(): Promise<void> {
    await this.#flush();
    await this.refresh();
  }

  /** Asks a question. parent is the message that it follows, '' for the last one. */
  async send(text: string, to: Recipients, parent = this.#lastMessage(), files: readonly api.FileRef[] = []): Promise<void> {
    if (this.pending || this.liveRun !== '') return;
    this.sendError = '';
    const body: SendBody = { request_id: newRequestId(), text, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...to };
    if (this.sessionId !== '') body.session_id = this.sessionId;
    if (parent !== '') body.parent_message_id = parent;
    if (this.sessionId === '' && this.private) body.private = true;
    if (files.length > 0) body.files = files.map((f) => f.id);
    this.pendingFiles = [...files];
    storePendingFiles(files);
    this.pending = body;
    storePending(body);
    await this.#flush();
  }

  /** The id of the answer that a new question follows. */
  #lastMessage(): string {
    const last = this.turns.at(-1);
    if (!last) return '';
    const index = this.shown[last.run] ?? last.chosen;
    return (last.answers.find((a) => (a.model_index ?? 0) === index) ?? last.answers[0] ?? last.question).id;
  }

  /** Sends what is pending; a lost line leaves it pending for the next connect. */
  async #flush(): Promise<void> {
    const body = this.pending;
    const socket = link.socket;
    if (!body || !socket?.isOpen || this.#flushing) return;
    this.#flushing = true;
    try {
      const ack = await socket.request({ type: 'send', ...body });
      this.#settle(null);
      this.#accepted(ack, body, this.#takeFiles());
      if (ack.session_id !== undefined) this.onAccepted(body.session_id ?? '', ack.session_id);
    } catch (error) {
      if (!(error instanceof Refused)) return;
      this.#settle(null);
      this.sendError = error.message;
      // The words come back into the composer, so that nothing is lost.
      drafts.restore(body.session_id ?? '', body.text);
      attachments.restore(body.session_id ?? '', this.#takeFiles());
    } finally {
      this.#flushing = false;
    }
  }

  #settle(body: SendBody | null): void {
    this.pending = body;
    storePending(body);
  }

  /** The files of the question that was pending; they are pending no more. */
  #takeFiles(): api.FileRef[] {
    const files = this.pendingFiles;
    this.pendingFiles = [];
    storePendingFiles([]);
    return files;
  }

  /** Draws an acknowledged question; the host has it on disk. */
  #accepted(ack: Ack, body: SendBody, files: api.FileRef[]): void {
    const here = (body.session_id ?? '') === this.sessionId;
    if (!here || ack.session_id === undefined) return;
    if (this.sessionId === '') {
      this.sessionId = ack.session_id;
      if (route.place.name === 'chat') route.go(chatAddress(ack.session_id), true);
    }
    this.onChange();
    const id = ack.user_message_id ?? '';
    if (id === '' || this.messages.some((m) => m.id === id)) return;
    const question: api.Message = { id, role: 'user', text: ack.text ?? body.text, status: 'completed', created_at: new Date().toISOString() };
    if (body.parent_message_id !== undefined && body.parent_message_id !== 'root') question.parent_id = body.parent_message_id;
    if (body.agent_id !== undefined) question.agent_id = body.agent_id;
    if (files.length > 0) question.files = files;
    this.messages = [...this.messages, question];
    this.leaf = id;
    if (ack.run !== undefined) this.#placeAnswers(ack.run, id, ack.message_ids ?? []);
  }

  /** Adds the messages that a run is going to write, before their packets come. */
  #placeAnswers(run: string, parent: string, ids: readonly string[]): void {
    const agent = this.messages.find((m) => m.id === parent)?.agent_id;
    const fresh = ids
      .filter((id) => !this.messages.some((m) => m.id === id))
      .map((id, index): api.Message => ({
        id, parent_id: parent, role: 'assistant', text: '', model_index: index, run, status: 'running',
        created_at: new Date().toISOString(), ...(agent === undefined ? {} : { agent_id: agent }),
      }));
    if (fresh.length === 0) return;
    this.messages = [...this.messages, ...fresh];
    this.leaf = fresh[0]?.id ?? this.leaf;
  }

  /** Asks for another answer to the question that messageId answers. */
  async regenerate(messageId: string, models: string[]): Promise<void> {
    const socket = link.socket;
    if (!socket || this.liveRun !== '') return;
    this.sendError = '';
    const frame = { type: 'regenerate', request_id: newRequestId(), message_id: messageId };
    try {
      const ack = await socket.request(models.length > 0 ? { ...frame, models } : frame);
      const parent = this.messages.find((m) => m.id === messageId);
      const question = parent?.role === 'user' ? parent.id : (parent?.parent_id ?? '');
      if (ack.run !== undefined) this.#placeAnswers(ack.run, question, ack.message_ids ?? (ack.message_id ? [ack.message_id] : []));
    } catch (error) {
      this.sendError =
        error instanceof Refused ? error.message : 'The connection was lost. Retry once the host is back.';
    }
  }

  /** Lets an answer that ended early go on, in the same message. */
  async goOn(messageId: string): Promise<void> {
    if (!link.socket || this.liveRun !== '') return;
    this.sendError = '';
    try {
      this.#wentOn(messageId, await link.socket.request({ type: 'continue', request_id: newRequestId(), message_id: messageId }));
    } catch (error) {
      this.sendError = error instanceof Refused ? error.message : 'The connection was lost. Press Continue again once the host is back.';
    }
  }

  /** Goes on with one of the compared answers; the calls that were held back in it run now. */
  async choose(messageId: string): Promise<void> {
    if (!link.socket || this.liveRun !== '') return;
    this.sendError = '';
    try {
      const ack = await link.socket.request({ type: 'select', request_id: newRequestId(), message_id: messageId });
      this.leaf = messageId;
      this.#wentOn(messageId, ack);
    } catch (error) {
      this.sendError = error instanceof Refused ? error.message : 'The connection was lost. Choose the answer again once the host is back.';
    }
  }

  /** Adds the run of an ack, if there is one, to those that wrote the answer. */
  #wentOn(messageId: string, ack: Ack): void {
    const { run } = ack;
    if (run === undefined) return;
    this.messages = this.messages.map((m) =>
      m.id !== messageId || m.run === run || m.later_runs?.includes(run) ? m : { ...m, status: 'running', later_runs: [...(m.later_runs ?? []), run] },
    );
  }

  /** Stops the live run. It may be asked again without harm. */
  async stop(): Promise<void> {
    const run = this.liveRun;
    if (run === '' || !link.socket) return;
    this.#stopped = run;
    try {
      await link.socket.request({ type: 'stop', run });
    } catch (error) {
      this.#stopped = '';
      this.sendError = error instanceof Refused ? error.message : 'The connection was lost before the stop arrived. Press stop again.';
    }
  }

  /** Shows another version of a question or of an answer, and goes on with it. */
  async select(messageId: string): Promise<void> {
    this.leaf = messageId;
    const run = this.messages.find((m) => m.id === messageId)?.run;
    // To the host it would choose one of the compared answers, and run what was held back in it.
    const compared = run !== undefined && this.messages.filter((m) => m.run === run).length > 1;
    try {
      if (!compared) await link.socket?.request({ type: 'select', request_id: newRequestId(), message_id: messageId });
    } catch {
      // Only where a reload begins depends on it; the next question names its parent.
    }
    await this.#join(this.sessionId);
  }

  /** Shows the answer of one model. */
  showModel(run: string, index: number): void {
    this.shown = { ...this.shown, [run]: index };
  }

  #setRun(run: Run): void {
    this.runs = { ...this.runs, [run.id]: run };
  }

  /** Gathers what comes within one frame of the screen, so that each is drawn once. */
  #enqueue(run: string, packets: Packet[]): void {
    const waiting = this.#queue.get(run);
    if (waiting) waiting.push(...packets);
    else this.#queue.set(run, [...packets]);
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (document.visibilityState === 'visible') requestAnimationFrame(() => this.#drain());
    else setTimeout(() => this.#drain(), 50);
  }

  #drain(): void {
    this.#scheduled = false;
    for (const [id, packets] of this.#queue) {
      const before = this.runs[id] ?? emptyRun(id, packets[0]?.epoch ?? 1);
      const after = takePackets(before, packets);
      this.#setRun(after);
      if (before.answers.length === 0 && after.answers.length > 0) this.#named(after);
      if (after.stop !== null) this.#ended(after);
    }
    this.#queue.clear();
  }

  /** run_started names the messages that the run writes. */
  #named(run: Run): void {
    if (run.sessionId !== '' && run.title !== '' && run.sessionId === this.sessionId && this.title === '') this.title = run.title;
    if (!this.messages.some((m) => m.id === run.userMessageId)) return;
    this.#placeAnswers(run.id, run.userMessageId, run.answers.map((a) => a.messageId));
  }

  #ended(run: Run): void {
    this.onChange();
    this.messages = this.messages.map((m) => {
      if (m.role !== 'assistant' || (m.later_runs?.at(-1) ?? m.run) !== run.id) return m;
      const answer = run.answers.find((a) => a.messageId === m.id);
      return { ...m, status: answer?.stop ?? run.stop ?? 'completed' };
    });
  }
}

export const conversation = new Conversation();
