import { StringDecoder } from 'node:string_decoder'
import { malformed } from './limited.ts'

/** The name of the document in messages, and the largest size of one member. */
export interface MemberLimits {
  readonly what: string
  readonly maxMemberBytes: number
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN = new Set([123, 91])
const CLOSE = new Set([125, 93])

/**
 * Yields the members of one large JSON object, each parsed as soon as it is complete: `{"a": …, "b": …}`. Memory is the
 * largest member. Only the outer object is read here; JSON.parse reads the members.
 * @throws Malformed when the text is no object, is cut off, or has a member longer than `maxMemberBytes`
 */
export async function* jsonMembers(
  chunks: AsyncIterable<Uint8Array>,
  { what, maxMemberBytes }: MemberLimits,
): AsyncGenerator<readonly [key: string, value: unknown]> {
  const decoder = new StringDecoder('utf8')
  let text = ''
  let at = 0
  let start = -1
  let depth = 0
  let inString = false
  let isEscaped = false
  let isOver = false
  const parse = (member: string): readonly [string, unknown] => {
    try {
      const [pair] = Object.entries(JSON.parse(`{${member}}`) as Record<string, unknown>)
      if (pair !== undefined) return pair
    } catch (error) {
      malformed(`${what} is damaged: a part of it is no JSON`, error)
    }
    return malformed(`${what} is damaged: a part of it is no JSON`)
  }
  for await (const chunk of chunks) {
    text += decoder.write(chunk)
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (code === BACKSLASH) isEscaped = true
        else if (code === QUOTE) inString = false
        continue
      }
      if (code === QUOTE) inString = true
      else if (OPEN.has(code)) {
        if (depth++ === 0) start = at + 1
      } else if (CLOSE.has(code)) {
        if (--depth < 0) malformed(`${what} is no JSON object`)
        if (depth === 0) {
          if (text.slice(start, at).trim() !== '') yield parse(text.slice(start, at))
          isOver = true
          start = at + 1
        }
      } else if (code === 44 && depth === 1) {
        yield parse(text.slice(start, at))
        start = at + 1
      }
    }
    if (start === -1) {
      if (text.trim() !== '') malformed(`${what} is no JSON object`)
    } else if (start > 0) {
      text = text.slice(start)
      at -= start
      start = 0
    }
    if (text.length > maxMemberBytes) malformed(`${what} has a part that is larger than allowed`)
  }
  if (!isOver) malformed(`${what} is cut off`)
  if (text.slice(Math.max(0, start)).trim() !== '') malformed(`${what} goes on behind its end`)
}
