/** The panes beside the chat, in the order of the sidebar: address, name, icon, and what stands there. */
import Bot from '@lucide/svelte/icons/bot';
import BookText from '@lucide/svelte/icons/book-text';
import Cpu from '@lucide/svelte/icons/cpu';
import NotebookPen from '@lucide/svelte/icons/notebook-pen';
import Wrench from '@lucide/svelte/icons/wrench';
import type { Component } from 'svelte';
import Agents from '../components/Agents.svelte';
import Knowledge from '../components/Knowledge.svelte';
import Memories from '../components/Memories.svelte';
import Models from '../components/Models.svelte';
import Tools from '../components/Tools.svelte';
import { plugins } from '../state/plugins.svelte';

export interface Pane {
  /** The name in the address, #/name. */
  name: string;
  title: string;
  icon: Component<{ size?: number }>;
  view: Component;
  /** What waits there for the person, as a sentence; '' for nothing. */
  waits?: () => string;
}

export const PANES: Pane[] = [
  { name: 'knowledge', title: 'Knowledge', icon: BookText, view: Knowledge },
  { name: 'memory', title: 'Memory', icon: NotebookPen, view: Memories },
  { name: 'agents', title: 'Agents', icon: Bot, view: Agents },
  { name: 'models', title: 'Models', icon: Cpu, view: Models },
  {
    name: 'tools',
    title: 'Tools',
    icon: Wrench,
    view: Tools,
    waits: () => (plugins.held.length > 0 ? 'Some wait until you have looked at them' : ''),
  },
];

/** The pane of that name, undefined for the chat. */
export const paneOf = (name: string): Pane | undefined => PANES.find((p) => p.name === name);
