import { Malformed } from '../../lib/limited.ts'
import type { Command, Redirect, Word } from './command.ts'
import { MAX_DEPTH, readExpanded, type Cursor, type ReadList } from './shell-words.ts'

/** The most simple commands that are read of one script. */
const MAX_COMMANDS = 200_000

/** What all lists of one script share. */
export interface Script {
  count: number
  readonly functions: Map<string, readonly Command[]>
}

interface Group {
  readonly kind: string
  readonly first: number
  readonly from: readonly Command[]
  /** Of a function. */
  readonly name: string | undefined
  /** Of `case`: patterns are being read, which are no commands. */
  inPatterns: boolean
}

/** A here-document whose lines come later. */
interface Awaited {
  readonly redirect: { -readonly [K in keyof Redirect]: Redirect[K] }
  readonly delimiter: string
  readonly isIndented: boolean
  readonly isQuoted: boolean
  readonly words: Word[]
}

interface Draft {
  line: number
  readonly start: number
  readonly words: Word[]
  readonly redirects: Redirect[]
}

/** One list of commands while it is read: a script, or the inside of a substitution. */
export interface List {
  readonly cursor: Cursor
  readonly script: Script
  readonly read: ReadList
  readonly commands: Command[]
  readonly groups: Group[]
  readonly awaited: Awaited[]
  draft: Draft | undefined
  /** Where the pipeline of the draft begins. */
  pipeline: number
  /** What is piped into the next command. */
  piped: readonly Command[] | undefined
  /** What the last command or group puts out. */
  last: readonly Command[]
  functionName: string | undefined
  /** The next word names a command. */
  isCommandNext: boolean
}

/** Ends the command that is being read. @throws Malformed beyond the most commands */
export function finish(list: List): void {
  const { draft, piped, groups, cursor } = list
  if (draft === undefined) return
  const { line, start, words, redirects } = draft
  list.draft = undefined
  list.piped = undefined
  if (words.length === 0 && redirects.length === 0) return
  if (++list.script.count > MAX_COMMANDS) throw new Malformed(`it has more than ${MAX_COMMANDS} commands`)
  const from = piped ?? groups.at(-1)?.from ?? []
  const command: Command = { line, words, redirects, from, source: cursor.source, start, end: cursor.at }
  list.commands.push(command)
  list.last = [command]
}

/** The command that is being read, begun here where there is none. */
export function begin(list: List): Draft {
  if (list.draft === undefined && list.piped === undefined) list.pipeline = list.cursor.at
  return (list.draft ??= { line: list.cursor.line, start: list.pipeline, words: [], redirects: [] })
}

/** `;`, `&`, the end of a line. */
export function separate(list: List): void {
  finish(list)
  list.piped = undefined
  list.isCommandNext = true
}

/** @throws Malformed */
export function openGroup(list: List, kind: string): void {
  const { groups, commands, piped, functionName: name } = list
  if (groups.length >= MAX_DEPTH) throw new Malformed(`it nests more than ${MAX_DEPTH} deep`)
  groups.push({ kind, first: commands.length, from: piped ?? groups.at(-1)?.from ?? [], name, inPatterns: false })
  list.functionName = undefined
  list.piped = undefined
  list.isCommandNext = true
}

// what may follow the end of a group and belongs to it
const FLOWS = /[ \t]*(?:\d?[<>]|\|(?!\|))/y

/** Ends the innermost group: what flows out of it goes into what follows. */
export function closeGroup(list: List): void {
  finish(list)
  const group = list.groups.pop()
  if (group === undefined) return
  FLOWS.lastIndex = list.cursor.at
  const flows = FLOWS.test(list.cursor.source)
  list.last = flows || group.name !== undefined ? list.commands.slice(group.first) : []
  if (group.name !== undefined) list.script.functions.set(group.name, list.last)
  list.piped = flows ? list.last : undefined
  list.isCommandNext = false
}

/** The here-documents whose lines begin at the cursor. One that is never closed goes to the end, as in the shell. */
export function readBodies({ awaited, cursor, read }: List): void {
  const { source } = cursor
  for (const { redirect, delimiter, isIndented, isQuoted, words } of awaited.splice(0)) {
    const [from, line] = [cursor.at, cursor.line]
    let end = source.length
    while (cursor.at < source.length) {
      const newline = source.indexOf('\n', cursor.at)
      const stop = newline < 0 ? source.length : newline
      const row = source.slice(cursor.at, stop)
      const isEnd = (isIndented ? row.replace(/^\t+/, '') : row) === delimiter
      if (isEnd) end = cursor.at
      cursor.at = Math.min(source.length, stop + 1)
      cursor.line++
      if (isEnd) break
    }
    const text = source.slice(from, end)
    redirect.body = { text, line }
    const inner = isQuoted ? [] : readExpanded(text, { ...cursor, line }, read)
    if (inner.length > 0) words.push({ text: '', inner })
  }
}
