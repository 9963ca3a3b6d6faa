/** Sorts things into the days on which a person looks for them. */

/** The heading under which a time stands: Today, Yesterday, Last 7 days, else its month. */
export function dayGroup(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return 'Earlier';
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  // Days by the calendar, not by 24 hours: a day may have 23 or 25 of them.
  const before = (days: number): Date => new Date(midnight.getFullYear(), midnight.getMonth(), midnight.getDate() - days);
  if (at >= midnight) return 'Today';
  if (at >= before(1)) return 'Yesterday';
  if (at >= before(7)) return 'Last 7 days';
  if (at >= before(30)) return 'Last 30 days';
  return at.toLocaleDateString('en-GB', { month: 'long', year: 'numeric' });
}

/** Groups items that come pinned first and then newest first, keeping their order. */
export function byDay<T extends { updated_at: string; pinned?: boolean }>(items: readonly T[], now: Date): { name: string; items: T[] }[] {
  const groups: { name: string; items: T[] }[] = [];
  for (const item of items) {
    const name = item.pinned ? 'Pinned' : dayGroup(item.updated_at, now);
    const group = groups.find((g) => g.name === name);
    if (group) group.items.push(item);
    else groups.push({ name, items: [item] });
  }
  return groups;
}
