/** Who is signed in, and which models there are. */
import * as api from '../lib/api';
import { link } from './link.svelte';

type Phase = 'starting' | 'in' | 'out' | 'unreachable';

class App {
  phase = $state<Phase>('starting');
  user = $state.raw<api.User | null>(null);
  version = $state('');
  models = $state.raw<api.Model[]>([]);
  modelsError = $state('');
  defaultModel = $state('');
  /** Whether the host looks for model servers on its machine. */
  looks = $state(false);
  sidebarOpen = $state(false);
  shortcutsOpen = $state(false);
  /** The fixed sidebar of a wide screen is folded away. */
  sidebarFolded = $state(false);

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

export const app = new App();
