import { Malformed } from '../../lib/limited.ts'
import type { Command, ParsedScript, Redirect, Word } from './command.ts'
import { begin, closeGroup, finish, openGroup, readBodies, separate, type List, type Script } from './shell-list.ts'
import { readWord, skipBlanks, type Cursor } from './shell-words.ts'

const OPENING: ReadonlySet<string> = new Set(['if', 'while', 'until', 'for', 'select', '{'])
const CLOSING: ReadonlySet<string> = new Set(['fi', 'done', 'esac', '}'])
const PASSED: ReadonlySet<string> = new Set(['then', 'else', 'elif', 'do', '!', 'time'])
const REDIRECT = /(?:\d+|&)?(?:<<<|<<-?|<>|>>|>\||>&|<&|<|>)/y
const PROCESS = /[<>]\(/y
const PAIR = /\([ \t]*\)/y
const BODY_OF_CASE = /;[;&]/y

const stands = (pattern: RegExp, { source, at }: Cursor): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}

function skipComment(cursor: Cursor): void {
  const end = cursor.source.indexOf('\n', cursor.at)
  cursor.at = end < 0 ? cursor.source.length : end
}

/** The words up to a mark, with what they substitute: `[[ … ]]`, `x=(…)`; operators in it are none. */
function readUntil(list: List, isEnd: (word: Word | undefined, char: string) => boolean): Word[] {
  const { cursor, read } = list
  const words: Word[] = []
  while (cursor.at < cursor.source.length) {
    skipBlanks(cursor)
    const word = readWord(cursor, read)
    const char = cursor.source[cursor.at] ?? ''
    if (word === undefined) {
      if (char === '\n') cursor.line++
      if (char === '#') skipComment(cursor)
      else cursor.at++
    } else words.push(word)
    if (isEnd(word, char)) break
  }
  return words
}

/** Keeps what a construct substitutes, which is no command itself. */
function keepInner(list: List, name: string, words: readonly Word[]): void {
  const inner = words.flatMap(word => word.inner)
  if (inner.length === 0) return
  begin(list).words.push({ text: name, inner: [] }, { text: '', inner })
}

function skipArithmetic({ cursor }: List): void {
  const end = cursor.source.indexOf('))', cursor.at)
  const to = end < 0 ? cursor.source.length : end + 2
  cursor.line += cursor.source.slice(cursor.at, to).split('\n').length - 1
  cursor.at = to
}

function readRedirect(list: List, op: string): void {
  const { cursor, read } = list
  const command = begin(list)
  cursor.at += op.length
  skipBlanks(cursor)
  const from = cursor.at
  const target = readWord(cursor, read) ?? { text: '', inner: [] }
  const plain = op.replace(/^\d+/, '')
  const redirect: { -readonly [K in keyof Redirect]: Redirect[K] } = { op: plain, target }
  if (plain === '<<<') redirect.body = { text: target.text, line: cursor.line }
  else if (plain.startsWith('<<'))
    list.awaited.push({
      redirect,
      delimiter: target.text,
      isIndented: plain === '<<-',
      isQuoted: /['"\\]/.test(cursor.source.slice(from, cursor.at)),
      words: command.words,
    })
  command.redirects.push(redirect)
}

/** `a | b)` of a case. False at the end of the script. */
function passPatterns(list: List): boolean {
  const { cursor, read, groups } = list
  const { source } = cursor
  skipBlanks(cursor)
  if (source[cursor.at] === '(') cursor.at++
  for (;;) {
    skipBlanks(cursor)
    const word = readWord(cursor, read)
    const group = groups.at(-1)
    if (word?.text === 'esac') {
      closeGroup(list)
      return true
    }
    skipBlanks(cursor)
    const char = source[cursor.at]
    if (char === undefined || group === undefined) return false
    if (char === '#') skipComment(cursor)
    else if (char === ')') {
      cursor.at++
      group.inPatterns = false
      list.isCommandNext = true
      return true
    } else if (word === undefined || char === '|' || char === '\n') {
      if (char === '\n') cursor.line++
      cursor.at++
    }
  }
}

/** `case WORD in`. */
function openCase(list: List): void {
  const { cursor, read } = list
  openGroup(list, 'case')
  skipBlanks(cursor)
  const subject = readWord(cursor, read)
  if (subject !== undefined && subject.inner.length > 0) begin(list).words.push({ text: 'case', inner: [] }, subject)
  finish(list)
  for (skipBlanks(cursor); cursor.source[cursor.at] === '\n'; skipBlanks(cursor)) {
    cursor.at++
    cursor.line++
  }
  readWord(cursor, read) // in
  const group = list.groups.at(-1)
  if (group !== undefined) group.inPatterns = true
}

/** Follows a word that begins no command of its own. False where it does. */
function keyword(list: List, word: string): boolean {
  if (word === 'case') openCase(list)
  else if (word === '[[')
    keepInner(
      list,
      word,
      readUntil(list, one => one?.text === ']]'),
    )
  else if (word === 'function') {
    skipBlanks(list.cursor)
    list.functionName = readWord(list.cursor, list.read)?.text
  } else if (OPENING.has(word)) {
    openGroup(list, word)
    if (word === 'for' || word === 'select') {
      begin(list).words.push({ text: word, inner: [] })
      list.isCommandNext = false
    }
  } else if (CLOSING.has(word)) closeGroup(list)
  else return PASSED.has(word)
  return true
}

function readPlain(list: List): void {
  const { cursor, read, draft, isCommandNext } = list
  const { at, line } = cursor
  const wasPiped = list.piped !== undefined
  const word = readWord(cursor, read)
  if (word === undefined) {
    cursor.at++ // an operator out of place
    return
  }
  const isBare = cursor.source.slice(at, cursor.at) === word.text
  if (isCommandNext && isBare && draft === undefined && keyword(list, word.text)) return
  if (draft === undefined && !wasPiped) list.pipeline = at
  list.draft ??= { line, start: list.pipeline, words: [], redirects: [] }
  list.draft.words.push(word)
  list.isCommandNext = false
}

function openBracket(list: List): void {
  const { cursor, draft } = list
  const name = draft?.words.length === 1 ? draft.words[0]?.text : undefined
  const pair = stands(PAIR, cursor)
  if (draft === undefined && cursor.source.startsWith('((', cursor.at)) skipArithmetic(list)
  else if (draft?.words.at(-1)?.text.endsWith('=') === true) {
    cursor.at++ // an array
    draft.words.push(...readUntil(list, (word, char) => word === undefined && char === ')'))
  } else if (pair !== undefined && (name !== undefined || list.functionName !== undefined)) {
    list.functionName ??= name
    list.draft = undefined
    cursor.at += pair.length
    list.isCommandNext = true
  } else {
    finish(list)
    cursor.at++
    openGroup(list, '(')
  }
}

/** Follows an operator at the cursor. False where none is. */
function operator(list: List, char: string): boolean {
  const { cursor, groups } = list
  const isTwice = cursor.source[cursor.at + 1] === char
  if (char === '\n') {
    separate(list)
    cursor.at++
    cursor.line++
    readBodies(list)
  } else if (char === ';' || char === '&') {
    const group = groups.at(-1)
    const endsCase = stands(BODY_OF_CASE, cursor) !== undefined
    separate(list)
    cursor.at += endsCase || isTwice ? 2 : 1
    if (endsCase && group?.kind === 'case') group.inPatterns = true
  } else if (char === '|') {
    finish(list)
    list.piped = isTwice ? undefined : list.last
    cursor.at += isTwice || cursor.source[cursor.at + 1] === '&' ? 2 : 1
    list.isCommandNext = true
  } else if (char === '(') openBracket(list)
  else if (char === ')') {
    cursor.at++
    if (groups.at(-1)?.kind === '(') closeGroup(list)
    else separate(list)
  } else return false
  return true
}

/** Reads a list to its end. `commands` is filled on the way, so that nothing is lost where it throws. */
function readList(list: List, isNested: boolean): void {
  const { cursor, groups } = list
  while (cursor.at < cursor.source.length) {
    if (groups.at(-1)?.inPatterns === true) {
      if (!passPatterns(list)) break
      continue
    }
    skipBlanks(cursor)
    const char = cursor.source[cursor.at]
    if (char === undefined) break
    if (char === '#') {
      skipComment(cursor)
      continue
    }
    if (char === ')' && isNested && !groups.some(({ kind }) => kind === '(')) {
      finish(list)
      cursor.at++
      return
    }
    const redirect = stands(PROCESS, cursor) === undefined ? stands(REDIRECT, cursor) : undefined
    if (redirect !== undefined) readRedirect(list, redirect)
    else if (!operator(list, char)) readPlain(list)
  }
  finish(list)
  readBodies(list)
  if (isNested) cursor.cut ??= 'A substitution in it is never closed.'
}

/**
 * Takes a shell script apart into its simple commands, as POSIX.1-2017, "Shell Command Language", says, with what bash
 * adds. Nothing is run and nothing is expanded. What cannot be read is said in `cut`; what came before it counts.
 */
export function parseShell(text: string, firstLine = 1, depth = 0): ParsedScript {
  const script: Script = { count: 0, functions: new Map() }
  const listAt = (cursor: Cursor): List => ({
    cursor,
    script,
    read: (inner, isNested) => {
      const list = listAt(inner)
      readList(list, isNested)
      return list.commands
    },
    commands: [] as Command[],
    groups: [],
    awaited: [],
    draft: undefined,
    pipeline: cursor.at,
    piped: undefined,
    last: [],
    functionName: undefined,
    isCommandNext: true,
  })
  const cursor: Cursor = { source: text, at: 0, line: firstLine, depth, cut: undefined }
  const list = listAt(cursor)
  try {
    readList(list, false)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    cursor.cut = `${error.why.replace(/^it\b/, 'It')}.`
  }
  const { commands } = list
  return { commands, functions: script.functions, ...(cursor.cut === undefined ? {} : { cut: cursor.cut }) }
}
