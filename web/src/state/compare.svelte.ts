/** Whether compared answers stand side by side, where there is room; kept in this browser. */
const KEY = 'bulkhead.columns';

class Compare {
  columns = $state(localStorage.getItem(KEY) === 'true');

  toggle(): void {
    this.columns = !this.columns;
    localStorage.setItem(KEY, String(this.columns));
  }
}

export const compare = new Compare();
