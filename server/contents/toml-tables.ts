import { linesOf } from './text-file.ts'

/**
 * One `[[package]]` table: its strings without quotes, everything else as it is written. A field of a table inside it
 * has that table's name before it: `source.type`.
 */
export type TomlTable = ReadonlyMap<string, string>

/** A quoted string of TOML on one line; other values as they are. Source: toml.io, v1.0.0, "String" */
function valueOf(text: string): string {
  const [, literal] = /^'([^']*)'/.exec(text) ?? []
  if (literal !== undefined) return literal
  const [basic] = /^"(?:[^"\\]|\\.)*"/.exec(text) ?? []
  if (basic === undefined) return text
  try {
    return String(JSON.parse(basic))
  } catch {
    return basic.slice(1, -1) // an escape that JSON does not know
  }
}

/** The mark of a string of several lines that begins in a value and does not end in it. */
function openString(value: string): string | undefined {
  const mark = value.slice(0, 3)
  return (mark === '"""' || mark === "'''") && !value.slice(3).includes(mark) ? mark : undefined
}

/**
 * The tables of one name, alone or in an array, in the TOML that package managers write: a field a line. Reads no other
 * TOML, so nothing is built but what is asked for.
 */
export function* tomlTables(text: string, name: string): Generator<TomlTable> {
  let table: Map<string, string> | undefined
  let prefix = ''
  let until: string | undefined
  for (const line of linesOf(text)) {
    if (until !== undefined) {
      if (line.includes(until)) until = undefined
      continue
    }
    const [, header] = /^\[\[? ?([^[\]"]+?) ?\]\]?$/.exec(line) ?? []
    if (header !== undefined) {
      const isSub = header.startsWith(`${name}.`)
      if (!isSub && table !== undefined) yield table
      if (!isSub) table = header === name ? new Map<string, string>() : undefined
      prefix = isSub ? `${header.slice(name.length + 1)}.` : ''
      continue
    }
    const [, key, value] = /^([\w-]+) ?= ?(.+)$/.exec(line) ?? []
    if (key === undefined || value === undefined) continue
    until = openString(value)
    if (!table?.has(prefix + key)) table?.set(prefix + key, valueOf(value))
  }
  if (table !== undefined) yield table
}
