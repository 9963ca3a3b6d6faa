/** A table as text that a spreadsheet takes: tabs between cells, a line for each row. */
export function tableText(table: HTMLTableElement): string {
  return [...table.rows]
    .map((row) => [...row.cells].map((cell) => (cell.textContent ?? '').replace(/\s+/g, ' ').trim()).join('\t'))
    .join('\n');
}
