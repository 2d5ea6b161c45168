import { parseJson } from '../../lib/json-file.ts'
import { malformed, printBytes } from '../../lib/limited.ts'

/** What is done with a value of the document. */
export type Wanted = 'value' | 'bytes' | 'nothing'

/** A value that was asked for: parsed, or the bytes of a base64 text, to be read before the next is asked for. */
export type Part =
  | { readonly kind: 'value'; readonly path: readonly string[]; readonly json: unknown }
  | { readonly kind: 'bytes'; readonly path: readonly string[]; readonly bytes: AsyncGenerator<Buffer> }

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const MOST_DEPTH = 200
const MOST_KEY = 1_024
const MOST_MEMBERS = 20_000
/** The largest value that is parsed. */
const MOST_VALUE = 4 * 2 ** 20

/** The bytes of a value that may go on over the end of a chunk. */
function createKept(most: number, what: string) {
  const pieces: Buffer[] = []
  let size = 0
  return {
    add(piece: Buffer): void {
      size += piece.length
      if (size > most) malformed(`${what} is larger than ${printBytes(most)}`)
      pieces.push(piece)
    },
    text: (): string => new TextDecoder().decode(Buffer.concat(pieces)),
  }
}
type Kept = ReturnType<typeof createKept>

/** Base64 in a JSON text, taken apart as it comes; a slash may be escaped there. @throws Malformed */
function createBase64(): { push(text: Buffer): Buffer; end(): void } {
  let rest = ''
  let isOver = false
  return {
    push(piece) {
      let text = rest + piece.toString('latin1')
      const isCut = text.endsWith('\\')
      if (isCut) text = text.slice(0, -1)
      text = text.replaceAll('\\/', '/')
      const whole = text.length - (text.length % 4)
      const now = text.slice(0, whole)
      rest = text.slice(whole) + (isCut ? '\\' : '')
      if (now === '') return Buffer.alloc(0)
      if (isOver || !/^[A-Za-z0-9+/]*={0,2}$/.test(now)) malformed('the data of an attachment is not base64')
      isOver = now.endsWith('=')
      return Buffer.from(now, 'base64')
    },
    end() {
      if (rest !== '') malformed('the data of an attachment is not base64: it is cut off')
    },
  }
}

/**
 * Reads one large JSON object as it comes and gives the values that are asked for by their path; nothing else is kept
 * in memory, and a base64 text passes through. A name that stands twice in one object is refused: readers differ about
 * which one counts. What is not asked for is looked at only as far as needed to find its end.
 * @param wants  asked for each member of objects up to three levels deep
 * @throws Malformed
 */
export async function* scanDocument(
  body: AsyncIterable<Buffer>,
  wants: (path: readonly string[]) => Wanted,
): AsyncGenerator<Part> {
  const source = body[Symbol.asyncIterator]()
  let chunk: Buffer = Buffer.alloc(0)
  let at = 0

  /** Whether there is a byte at `at`. */
  const more = async (): Promise<boolean> => {
    while (at >= chunk.length) {
      const next = await source.next()
      if (next.done === true) return false
      chunk = next.value
      at = 0
    }
    return true
  }
  const need = async (): Promise<number> =>
    (await more()) ? (chunk[at] as number) : malformed('the document is cut off')
  const skipBlanks = async (): Promise<number> => {
    let byte = await need()
    while (isBlank(byte)) {
      at += 1
      byte = await need()
    }
    return byte
  }

  /** Passes one value to behind its end: a text, what is between brackets, a number or a word. */
  async function pass(kept?: Kept): Promise<void> {
    let [depth, isText, isEscaped, isBegun] = [0, false, false, false]
    let from = at
    const end = (): void => kept?.add(chunk.subarray(from, at))
    for (;;) {
      if (at >= chunk.length) {
        end()
        await need()
        from = 0
      }
      const byte = chunk[at] as number
      if (isText) {
        at += 1
        isText = isEscaped || byte !== QUOTE
        isEscaped = !isEscaped && byte === BACKSLASH
        if (!isText && depth === 0) return end()
        continue
      }
      const isClosing = byte === CLOSE_OBJECT || byte === CLOSE_LIST
      if (depth === 0 && (isClosing || byte === COMMA || (isBegun && isBlank(byte)))) return end()
      at += 1
      isBegun = true
      if (byte === QUOTE) isText = true
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
      else if (isClosing && --depth === 0) return end()
      if (depth > MOST_DEPTH) malformed(`the document is nested more than ${MOST_DEPTH} deep`)
    }
  }

  async function readValue(path: readonly string[]): Promise<unknown> {
    const kept = createKept(MOST_VALUE, path.join('.').slice(0, 80))
    await pass(kept)
    return parseJson(kept.text())
  }

  /** The bytes of a base64 text that begins at `at`. */
  async function* readBytes(): AsyncGenerator<Buffer> {
    if ((await skipBlanks()) !== QUOTE) malformed('the data of an attachment is no text')
    const base64 = createBase64()
    at += 1
    for (;;) {
      await need()
      const end = chunk.indexOf(QUOTE, at)
      const bytes = base64.push(chunk.subarray(at, end === -1 ? chunk.length : end))
      at = end === -1 ? chunk.length : end + 1
      if (bytes.length > 0) yield bytes
      if (end !== -1) return base64.end()
    }
  }

  async function readKey(keys: Set<string>): Promise<string> {
    if ((await skipBlanks()) !== QUOTE) malformed('the document is no JSON: a name was expected')
    const kept = createKept(MOST_KEY, 'a name in the document')
    await pass(kept)
    const key = String(parseJson(kept.text()))
    if (keys.has(key)) malformed(`the document has ${JSON.stringify(key.slice(0, 80))} twice in one object`)
    keys.add(key)
    if (keys.size > MOST_MEMBERS) malformed(`the document has more than ${MOST_MEMBERS} members in one object`)
    if ((await skipBlanks()) !== COLON) malformed('the document is no JSON: a colon was expected')
    at += 1
    return key
  }

  /** The members of an object, whose bracket is at `at`. */
  async function* readObject(path: readonly string[]): AsyncGenerator<Part> {
    const keys = new Set<string>()
    at += 1
    if ((await skipBlanks()) === CLOSE_OBJECT) {
      at += 1
      return
    }
    for (;;) {
      const below = [...path, await readKey(keys)]
      const first = await skipBlanks()
      const wanted = wants(below)
      if (wanted === 'value') yield { kind: 'value', path: below, json: await readValue(below) }
      else if (wanted === 'bytes') {
        const bytes = readBytes()
        yield { kind: 'bytes', path: below, bytes }
        while ((await bytes.next()).done !== true) continue
      } else if (first === OPEN_OBJECT && below.length < 3) yield* readObject(below)
      else await pass()
      const next = await skipBlanks()
      at += 1
      if (next === CLOSE_OBJECT) return
      if (next !== COMMA) malformed('the document is no JSON: a comma was expected')
    }
  }

  try {
    if ((await skipBlanks()) !== OPEN_OBJECT) malformed('the document is no JSON object')
    yield* readObject([])
    while (await more()) {
      if (!isBlank(chunk[at] as number)) malformed('the document goes on behind its end')
      at += 1
    }
  } finally {
    // whoever answers reads what is left
    await source.return?.()
  }
}
