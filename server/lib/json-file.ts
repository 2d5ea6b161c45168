import { isFields, type Fields } from './fields.ts'
import { malformed } from './limited.ts'

const MOST_DEPTH = 200
/** Each costs some 50 bytes of memory once it is parsed. */
const MOST_VALUES = 2_000_000

const [QUOTE, BACKSLASH, COMMA, COLON, SLASH, STAR] = [0x22, 0x5c, 0x2c, 0x3a, 0x2f, 0x2a]
const [OPENING, CLOSING] = [0x7b, 0x7d]
const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d

/** The place behind the string that begins at `at`. */
function afterString(text: string, at: number): number {
  let i = at + 1
  while (i < text.length && text.charCodeAt(i) !== QUOTE) i += text.charCodeAt(i) === BACKSLASH ? 2 : 1
  return i + 1
}

const notJson = (cause?: unknown): never => malformed('it is not JSON', cause)

/** Counts before anything is built: a small file can ask for gigabytes. */
function checkSize(text: string): void {
  let depth = 0
  let values = 1
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = afterString(text, i) - 1
    else if (isOpening(code)) {
      values++
      if (++depth > MOST_DEPTH) malformed(`it is nested more than ${MOST_DEPTH} deep`)
    } else if (isClosing(code)) depth--
    else if (code === COMMA) values++
    if (values > MOST_VALUES) malformed(`it holds more than ${MOST_VALUES} values`)
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    return notJson(cause)
  }
}

/** @throws Malformed for anything but JSON of at most 200 levels and 2 million values */
export function parseJson(text: string): unknown {
  checkSize(text)
  return parseText(text)
}

/** @throws Malformed as `parseJson`, and where it is no object */
export function parseJsonObject(text: string): Fields {
  const value = parseJson(text)
  return isFields(value) ? value : malformed('it is not a JSON object')
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The place behind the value that begins at `at`. What it is not, `JSON.parse` finds. */
function afterValue(text: string, at: number): number {
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = afterString(text, i) - 1
    else if (isOpening(code)) depth++
    else if (depth > 0) {
      if (isClosing(code)) depth--
      else continue
    } else if (code === COMMA || isClosing(code)) return i
    else continue
    if (depth === 0) return i + 1
  }
  return text.length
}

/**
 * The members of the object that a text is, in its order, each value as its own text: of a large object memory holds
 * one at a time. A key that stands there twice comes twice.
 * @throws Malformed where the text is no object; values are not looked at
 */
export function* membersOf(text: string): Generator<readonly [key: string, value: string]> {
  let at = 0
  const skip = (): number => {
    while (isBlank(text.charCodeAt(at))) at++
    return text.charCodeAt(at)
  }
  const take = (code: number): boolean => {
    const isThere = skip() === code
    if (isThere) at++
    return isThere
  }
  if (!take(OPENING)) notJson()
  let isFirst = true
  while (!take(CLOSING)) {
    if (!isFirst && !take(COMMA)) notJson()
    isFirst = false
    if (skip() !== QUOTE) notJson()
    const afterKey = afterString(text, at)
    const key = parseText(text.slice(at, afterKey))
    at = afterKey
    if (!take(COLON)) notJson()
    skip()
    const end = afterValue(text, at)
    const value = text.slice(at, end)
    at = end
    yield [String(key), value]
  }
  skip()
  if (at < text.length) notJson()
}

/** The place behind blanks and comments. */
function afterBlanks(text: string, at: number): number {
  let i = at
  for (;;) {
    while (i < text.length && text.charCodeAt(i) <= 0x20) i++
    if (text.charCodeAt(i) !== SLASH) return i
    const isLine = text.charCodeAt(i + 1) === SLASH
    if (!isLine && text.charCodeAt(i + 1) !== STAR) return i
    const end = isLine ? text.indexOf('\n', i) : text.indexOf('*/', i + 2)
    if (end === -1) return text.length
    i = end + (isLine ? 1 : 2)
  }
}

/**
 * JSON with comments and commas before closing brackets, as `bun.lock` has them.
 * @throws Malformed as `parseJsonObject`
 */
export function parseLooseJson(text: string): Fields {
  const kept: string[] = []
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = afterString(text, i) - 1
    else if (code === SLASH || code === COMMA) {
      const next = afterBlanks(text, code === COMMA ? i + 1 : i)
      const isDropped = code === COMMA ? isClosing(text.charCodeAt(next)) : next > i
      if (!isDropped) continue
      kept.push(text.slice(from, i), '\n')
      from = next
      i = next - 1
    }
  }
  return parseJsonObject(kept.join('') + text.slice(from))
}
