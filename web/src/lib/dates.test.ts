import { describe, expect, it } from 'vitest';
import { byDay, dayGroup } from './dates';

const now = new Date(2026, 2, 30, 9, 0); // the day after clocks went forward in Europe
const at = (...parts: [number, number, number, number?]) => new Date(parts[0], parts[1], parts[2], parts[3] ?? 12).toISOString();

describe('dayGroup', () => {
  it('goes by the calendar, not by 24 hours', () => {
    expect(dayGroup(at(2026, 2, 30, 0), now)).toBe('Today');
    expect(dayGroup(at(2026, 2, 29, 23), now)).toBe('Yesterday');
    expect(dayGroup(at(2026, 2, 29, 0), now)).toBe('Yesterday');
    expect(dayGroup(at(2026, 2, 28, 23), now)).toBe('Last 7 days');
    expect(dayGroup(at(2026, 2, 10), now)).toBe('Last 30 days');
    expect(dayGroup(at(2025, 11, 24), now)).toBe('December 2025');
    expect(dayGroup('nonsense', now)).toBe('Earlier');
  });
});

describe('byDay', () => {
  it('keeps the order and gives each group once', () => {
    const items = [at(2026, 2, 30), at(2026, 2, 29), at(2026, 2, 29, 1), at(2025, 11, 24)].map((updated_at, id) => ({ id, updated_at }));
    expect(byDay(items, now).map((g) => [g.name, g.items.map((i) => i.id)])).toEqual([
      ['Today', [0]],
      ['Yesterday', [1, 2]],
      ['December 2025', [3]],
    ]);
  });

  it('puts what is pinned first, whatever its day', () => {
    const items = [{ updated_at: at(2025, 11, 24), pinned: true }, { updated_at: at(2026, 2, 30) }];
    expect(byDay(items, now).map((g) => g.name)).toEqual(['Pinned', 'Today']);
  });
});
