import { malformed } from '../../lib/limited.ts'
import type { Command, Word } from './command.ts'

/** How deep substitutions and groups may nest. */
export const MAX_DEPTH = 100

/** Where a script is being read. */
export interface Cursor {
  readonly source: string
  at: number
  line: number
  readonly depth: number
  /** Why what follows is not known. */
  cut: string | undefined
}

/** Reads commands up to the `)` that ends them, or to the end of the script. */
export type ReadList = (cursor: Cursor, isNested: boolean) => readonly Command[]

const BLANK = /[ \t\r]/
const META = /[\s;&|()<>]/
// what has no meaning of its own inside a word, taken in one go
const PLAIN = /[^\s;&|()<>'"`\\$]+/y
const PLAIN_IN_QUOTES = /[^"`\\$\n]+/y

/** Passes blanks and continued lines. */
export function skipBlanks(cursor: Cursor): void {
  const { source } = cursor
  for (; cursor.at < source.length; cursor.at++) {
    if (source.startsWith('\\\n', cursor.at)) {
      cursor.at++
      cursor.line++
    } else if (!BLANK.test(source[cursor.at] ?? '')) return
  }
}

function deeper(cursor: Cursor, source = cursor.source, at = cursor.at, line = cursor.line): Cursor {
  if (cursor.depth >= MAX_DEPTH) malformed(`it nests more than ${MAX_DEPTH} deep`)
  return { source, at, line, depth: cursor.depth + 1, cut: undefined }
}

/** `$(…)` behind its opening; leaves the cursor behind its end. */
function substitution(cursor: Cursor, read: ReadList): readonly Command[] {
  const inner = deeper(cursor)
  const commands = read(inner, true)
  ;[cursor.at, cursor.line] = [inner.at, inner.line]
  cursor.cut ??= inner.cut
  return commands
}

/** `` `…` `` behind its opening. Source: POSIX.1-2017, Shell Command Language, 2.6.3 */
function backquoted(cursor: Cursor, read: ReadList): readonly Command[] {
  const { source, line } = cursor
  let text = ''
  for (; cursor.at < source.length && source[cursor.at] !== '`'; cursor.at++) {
    if (source[cursor.at] === '\\' && '`\\$'.includes(source[cursor.at + 1] ?? ' ')) cursor.at++
    text += source[cursor.at]
    if (source[cursor.at] === '\n') cursor.line++
  }
  if (cursor.at >= source.length) cursor.cut ??= 'A backquote in it is never closed.'
  cursor.at++
  return read(deeper(cursor, text, 0, line), false)
}

interface Builder {
  text: string
  readonly inner: Command[]
}

/** `${…}`, whose default may hold a substitution: `${URL:-$(…)}`. */
function braced(cursor: Cursor, word: Builder, read: ReadList): void {
  const inner = deeper(cursor)
  word.text += '${'
  for (inner.at += 2; inner.at < inner.source.length;) {
    const char = inner.source[inner.at]
    if (char === '}') break
    if (char === "'") single(inner, word)
    else if (char === '"') double(inner, word, read)
    else if (!special(inner, word, read)) {
      if (char === '\n') inner.line++
      word.text += char
      inner.at++
    }
  }
  word.text += '}'
  ;[cursor.at, cursor.line] = [inner.at + 1, inner.line]
  cursor.cut ??= inner.cut
}

/** `$((…))`: numbers, passed over. */
function arithmetic(cursor: Cursor): void {
  const { source } = cursor
  let open = 0
  for (cursor.at += 1; cursor.at < source.length; cursor.at++) {
    if (source[cursor.at] === '\n') cursor.line++
    if (source[cursor.at] === '(') open++
    if (source[cursor.at] === ')' && --open === 0) break
  }
  cursor.at++
}

/** What begins with `$`, a backquote or a backslash. False where nothing does. */
function special(cursor: Cursor, word: Builder, read: ReadList): boolean {
  const { source, at } = cursor
  if (source[at] === '\\') {
    if (source[at + 1] === '\n') cursor.line++
    else word.text += source[at + 1] ?? ''
    cursor.at += 2
    return true
  }
  if (source[at] === '`') {
    cursor.at++
    word.inner.push(...backquoted(cursor, read))
    return true
  }
  if (source[at] !== '$') return false
  if (source.startsWith('$((', at)) arithmetic(cursor)
  else if (source[at + 1] === '(') {
    cursor.at += 2
    word.inner.push(...substitution(cursor, read))
  } else if (source[at + 1] === '{') braced(cursor, word, read)
  else {
    word.text += '$'
    cursor.at++
  }
  return true
}

function single(cursor: Cursor, word: Builder): void {
  const { source, at } = cursor
  const end = source.indexOf("'", at + 1)
  if (end < 0) cursor.cut ??= 'A quote in it is never closed.'
  const text = source.slice(at + 1, end < 0 ? source.length : end)
  for (let n = text.indexOf('\n'); n >= 0; n = text.indexOf('\n', n + 1)) cursor.line++
  word.text += text
  cursor.at = end < 0 ? source.length : end + 1
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', e: '\x1b', a: '', b: '' }

/** `\x63`, `\143`, `\u0063`, as `$'…'` and printf write them. */
export const unescapeText = (text: string): string =>
  text.replace(/\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|(.))/gs, (_, hex, wide, octal, char) =>
    hex !== undefined || wide !== undefined
      ? String.fromCharCode(parseInt((hex ?? wide) as string, 16))
      : octal !== undefined
        ? String.fromCharCode(parseInt(octal as string, 8) & 255)
        : (ESCAPES[char as string] ?? (char as string)),
  )

/** `$'…'` of bash. */
function ansi(cursor: Cursor, word: Builder): void {
  const { source } = cursor
  let end = cursor.at + 2
  while (end < source.length && source[end] !== "'") end += source[end] === '\\' ? 2 : 1
  const text = source.slice(cursor.at + 2, end)
  cursor.line += text.split('\n').length - 1
  word.text += unescapeText(text)
  cursor.at = end + 1
}

/** `"…"`, or all that is left where `isOpen`: a here-document is read like that. */
function double(cursor: Cursor, word: Builder, read: ReadList, isOpen = false): void {
  const { source } = cursor
  if (!isOpen) cursor.at++
  while (cursor.at < source.length) {
    PLAIN_IN_QUOTES.lastIndex = cursor.at
    const plain = PLAIN_IN_QUOTES.exec(source)?.[0]
    const char = source[cursor.at]
    if (plain !== undefined) {
      word.text += plain
      cursor.at += plain.length
    } else if (char === '"' && !isOpen) {
      cursor.at++
      return
    } else if (char === '\\' && !'"`$\\\n'.includes(source[cursor.at + 1] ?? ' ')) {
      word.text += '\\'
      cursor.at++
    } else if (!special(cursor, word, read)) {
      if (char === '\n') cursor.line++
      word.text += char
      cursor.at++
    }
  }
  if (!isOpen) cursor.cut ??= 'A quote in it is never closed.'
}

/** The word at the cursor; undefined where an operator or the end of the line is. */
export function readWord(cursor: Cursor, read: ReadList): Word | undefined {
  const { source, at } = cursor
  const word: Builder = { text: '', inner: [] }
  while (cursor.at < source.length) {
    PLAIN.lastIndex = cursor.at
    const plain = PLAIN.exec(source)?.[0]
    const char = source[cursor.at] ?? ''
    if (plain !== undefined) {
      word.text += plain
      cursor.at += plain.length
    } else if ((char === '<' || char === '>') && source[cursor.at + 1] === '(') {
      cursor.at += 2
      word.inner.push(...substitution(cursor, read))
    } else if (META.test(char)) break
    else if (char === "'") single(cursor, word)
    else if (char === '"') double(cursor, word, read)
    else if (source.startsWith("$'", cursor.at)) ansi(cursor, word)
    else special(cursor, word, read)
  }
  return cursor.at === at ? undefined : word
}

/** The substitutions in a here-document whose delimiter is not quoted. */
export function readExpanded(text: string, cursor: Cursor, read: ReadList): readonly Command[] {
  if (!/[`$]/.test(text)) return []
  const word: Builder = { text: '', inner: [] }
  double(deeper(cursor, text, 0), word, read, true)
  return word.inner
}
