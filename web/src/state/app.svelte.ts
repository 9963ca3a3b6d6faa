/** Who is signed in, which models there are, and which one answers. */
import * as api from '../lib/api';
import { link } from './link.svelte';

type Phase = 'starting' | 'in' | 'out' | 'unreachable';

const MODELS_KEY = 'bulkhead.models';

class App {
  phase = $state<Phase>('starting');
  user = $state.raw<api.User | null>(null);
  version = $state('');
  models = $state.raw<api.Model[]>([]);
  modelsError = $state('');
  defaultModel = $state('');
  /** Whether the host looks for model servers on its machine. */
  looks = $state(false);
  /** Names of the picked models; empty is the default one. */
  picked = $state.raw<string[]>(storedModels());
  sidebarOpen = $state(false);
  shortcutsOpen = $state(false);
  /** The fixed sidebar of a wide screen is folded away. */
  sidebarFolded = $state(false);

  /** The models that the next question goes to. */
  chosen = $derived.by(() => {
    const known = this.picked.filter((name) => this.models.some((m) => m.name === name));
    return known.length > 0 ? known : this.defaultModel === '' ? [] : [this.defaultModel];
  });
  extractive = $derived(
    this.chosen.length > 0 && this.chosen.every((n) => this.models.find((m) => m.name === n)?.provider === 'extractive'),
  );

  constructor() {
    link.onFailure = () => void this.#checkSession();
    link.listen({
      open: () => void this.loadModels(),
      event: (event) => {
        if (event.topic === 'model') void this.loadModels();
      },
    });
  }

  /** Finds out who is signed in, and connects. */
  async start(): Promise<void> {
    try {
      const { user, version } = await api.me();
      this.user = user;
      this.version = version;
      this.phase = 'in';
      link.start();
    } catch (error) {
      this.phase = error instanceof api.Failure && error.status === 401 ? 'out' : 'unreachable';
    }
  }

  async loadModels(): Promise<void> {
    try {
      this.takeModels(await api.models());
    } catch (error) {
      this.modelsError = (error as Error).message;
    }
  }

  takeModels(reply: api.ModelList): void {
    this.models = reply.models ?? [];
    this.defaultModel = reply.default;
    this.looks = reply.looks ?? false;
    this.modelsError = '';
  }

  pick(names: string[]): void {
    this.picked = names;
    localStorage.setItem(MODELS_KEY, JSON.stringify(names));
  }

  async signOut(): Promise<void> {
    try {
      await api.signOut();
    } finally {
      this.#out();
    }
  }

  /** A refused connection may mean that the sign-in has ended. */
  async #checkSession(): Promise<void> {
    try {
      await api.me();
    } catch (error) {
      if (error instanceof api.Failure && error.status === 401) this.#out();
    }
  }

  #out(): void {
    link.stop();
    this.user = null;
    this.phase = 'out';
  }
}

function storedModels(): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(MODELS_KEY) ?? '[]');
    return Array.isArray(value) ? value.filter((v): v is string => typeof v === 'string') : [];
  } catch {
    return [];
  }
}

export const app = new App();
