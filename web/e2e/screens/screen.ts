/** A screen that a person sees: the way to it, and back. */
import type { Page } from '@playwright/test';
import type { Line } from '../line';

export interface Screen {
  name: string;
  go: (page: Page, line: Line) => Promise<void>;
  /** Brings back what a changed width takes away. */
  again?: (page: Page) => Promise<void>;
  /** Puts the host back as it was. */
  leave?: (page: Page, line: Line) => Promise<void>;
  /** Without a session. */
  signedOut?: boolean;
  /** Only where the sidebar lies over the conversation. */
  onlyNarrow?: boolean;
}
