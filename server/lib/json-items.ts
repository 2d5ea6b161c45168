import { StringDecoder } from 'node:string_decoder'
import { malformed } from './limited.ts'

const QUOTE = 34
const BACKSLASH = 92
const OPEN = new Set([123, 91])
const CLOSE = new Set([125, 93])
/** What may stand around the items. */
const MOST_HEAD = 256 * 1024

/**
 * Yields the objects in the lists of one large JSON object, each parsed as soon as it is complete:
 * `{"format": …, "vulnerabilities": [{…}, {…}]}`. Memory is the largest item.
 * @returns the object with its lists emptied
 * @throws Malformed when the text is no object, is cut off, or has an item longer than `maxItemBytes`
 */
export async function* jsonItems(
  chunks: AsyncIterable<Uint8Array>,
  { what, maxItemBytes }: { readonly what: string; readonly maxItemBytes: number },
): AsyncGenerator<unknown, unknown> {
  const decoder = new StringDecoder('utf8')
  const parse = (text: string): unknown => {
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      return malformed(`${what} is damaged: a part of it is no JSON`, error)
    }
  }
  let head = ''
  let item = ''
  let depth = 0
  let inList = false
  let inItem = false
  let inString = false
  let isEscaped = false
  const take = (part: string): void => {
    if (inItem) item += part
    else if (!inList) head += part
    else if (!/^[\s,]*$/.test(part)) malformed(`${what} lists something that is no object`)
    if (item.length > maxItemBytes || head.length > MOST_HEAD)
      malformed(`${what} has a part that is larger than allowed`)
  }
  for await (const chunk of chunks) {
    const text = decoder.write(chunk)
    let from = 0
    const takeTo = (to: number): void => {
      take(text.slice(from, to))
      from = to
    }
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (code === BACKSLASH) isEscaped = true
        else if (code === QUOTE) inString = false
      } else if (code === QUOTE) inString = true
      else if (OPEN.has(code)) {
        if (inList && depth === 2) {
          takeTo(at)
          inItem = true
        }
        if (++depth === 2 && code === 91) {
          takeTo(at + 1)
          inList = true
        }
      } else if (CLOSE.has(code)) {
        if (--depth < 0) malformed(`${what} is no JSON object`)
        if (inItem && depth === 2) {
          takeTo(at + 1)
          inItem = false
          yield parse(item)
          item = ''
        } else if (inList && depth === 1) {
          takeTo(at)
          inList = false
        }
      }
    }
    takeTo(text.length)
  }
  if (depth > 0 || inString) malformed(`${what} is cut off`)
  return parse(head)
}
