/** A value of a table: text, a number, a truth, or nothing. */
export type Cell = string | number | boolean | null

/** What a spreadsheet would run as a formula when a cell begins with it. Source: OWASP, CSV Injection */
const FORMULA = /^[=+\-@\t\r]/

/**
 * One cell (RFC 4180). Text that a spreadsheet would take for a formula is kept as text by an apostrophe before it;
 * numbers are printed as they are.
 */
function printCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** One line of a table, with its end. */
export const printRow = (cells: readonly Cell[]): string => `${cells.map(printCell).join(',')}\r\n`
