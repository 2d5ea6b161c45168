import { saveFile } from './download.ts'
import { EXPORT_LISTS, type ExportList } from './export-lists.ts'

/** One page of a list, as the server gives it. */
interface PageOf<Row> {
  readonly items: readonly Row[]
  readonly total: number
  readonly pages: number
}

type Row = Readonly<Record<string, unknown>>

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a spreadsheet would run as a formula when a cell begins with it. Source: OWASP, CSV Injection */
const FORMULA = /^[=+\-@\t\r]/

/** One cell (RFC 4180), as the server's own exports print it. */
function printCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const isPlain = Array.isArray(value) && value.every(one => typeof one !== 'object')
  const text = typeof value === 'string' ? value : isPlain ? value.join('; ') : JSON.stringify(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
const printRow = (cells: readonly unknown[]): string => `${cells.map(printCell).join(',')}\r\n`

/** Objects within a row become columns of their own: `sla.due_at`. */
function flat(row: Row, before = ''): [string, unknown][] {
  return Object.entries(row).flatMap(([key, value]): [string, unknown][] =>
    isRow(value) ? flat(value, `${before}${key}.`) : [[`${before}${key}`, value]],
  )
}

/**
 * A table of rows with the names of the API as titles; a column for each that one of them has. UTF-8 with its mark.
 * @param known  titles that it has also without a row
 */
export function printCsv(rows: readonly Row[], known: readonly string[] = []): string {
  const cells = rows.map(row => new Map(flat(row)))
  const all = [...new Set([...known, ...cells.flatMap(row => [...row.keys()])])]
  // an object that is null in one row has its columns from the others
  const titles = all.filter(title => !all.some(one => one.startsWith(`${title}.`)))
  return `\uFEFF${printRow(titles)}${cells.map(row => printRow(titles.map(title => row.get(title)))).join('')}`
}

/**
 * Reads all pages of a list.
 * @throws ApiProblem when one could not be read: half a list is none
 */
export async function readAll<T>(read: (page: number) => Promise<PageOf<T>>): Promise<readonly T[]> {
  const first = await read(1)
  const rows = [...first.items]
  for (let page = 2; page <= first.pages; page++) rows.push(...(await read(page)).items)
  return rows
}

export type ExportFormat = 'csv' | 'json' | 'jsonl'
const TYPES = { csv: 'text/csv', json: 'application/json', jsonl: 'application/jsonl' } as const

/** The name of the file of a list: `gatehouse-packages-2026-11-26.csv`. */
export const exportName = (list: string, ending: string): string =>
  `gatehouse-${list}-${new Date().toISOString().slice(0, 10)}.${ending}`

function printRows(list: ExportList, rows: readonly object[], format: ExportFormat): string {
  if (format === 'csv') return printCsv(rows as readonly Row[], EXPORT_LISTS[list])
  if (format === 'json') return `${JSON.stringify(rows, undefined, 2)}\n`
  return rows.map(row => `${JSON.stringify(row)}\n`).join('')
}

/**
 * Saves the rows of a list as a file.
 * @param about  what the list is of, where there are several: `30-days`
 * @returns its name
 */
export function saveRows(
  { list, about }: { readonly list: ExportList; readonly about?: string | undefined },
  rows: readonly object[],
  format: ExportFormat,
): string {
  const body = new Blob([printRows(list, rows, format)], { type: `${TYPES[format]};charset=utf-8` })
  return saveFile(exportName(about === undefined ? list : `${list}-${about}`, format), body)
}
