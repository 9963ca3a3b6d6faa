/** Agents that a test needs, set up and removed over HTTP. */
import type { Page } from '@playwright/test';
import type { AgentBody } from '../src/lib/api';
import { expect } from './page';

export const TUTOR: AgentBody = { name: 'Tutor', instructions: 'Ask back before you answer.\nNever give the solution away.', tools: ['internal_search', 'tide_table'], model: 'search', max_cycles: 4 };

export async function addAgents(page: Page, ...bodies: AgentBody[]): Promise<void> {
  for (const data of bodies) expect(await page.request.post('/api/v1/agents', { data })).toBeOK();
}

/** Removes every agent. */
export async function removeAgents(page: Page): Promise<void> {
  const { agents } = (await (await page.request.get('/api/v1/agents')).json()) as { agents: { id: string }[] };
  for (const { id } of agents) expect(await page.request.delete(`/api/v1/agents/${id}`)).toBeOK();
}
