/** Light, dark, or as the system says. The choice is kept in this browser. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'bulkhead.theme';

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

class ThemeState {
  current = $state<Theme>(stored());

  /** Goes on to the next of system, light, dark. */
  next(): void {
    this.current = this.current === 'system' ? 'light' : this.current === 'light' ? 'dark' : 'system';
    if (this.current === 'system') {
      localStorage.removeItem(KEY);
      delete document.documentElement.dataset['theme'];
    } else {
      localStorage.setItem(KEY, this.current);
      document.documentElement.dataset['theme'] = this.current;
    }
  }
}

export const theme = new ThemeState();
