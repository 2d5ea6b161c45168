import { isUtf8 } from 'node:buffer'
import { SaxesParser } from 'saxes'
import { isScalar, parseDocument, visit, type Document } from 'yaml'
import type { RelPath } from '../core/identity.ts'
import { malformed, printBytes, quote } from '../lib/limited.ts'

/** The key of a document within its kind; parts that the kind does not use are empty. */
export interface DocumentKey {
  readonly component: string
  readonly arch: string
  readonly name: string
}

/** A kind of document: metadata that come with a set of packages and are served in the signed tree. */
export interface DocumentKind {
  /** As routes name it: `translation`. */
  readonly id: string
  readonly label: string
  /** The file in the tree that people know it by: `i18n/Translation-<language>`. */
  readonly file: string
  /** The parts of the key that documents of this kind have; the others are empty. */
  readonly keys: readonly (keyof DocumentKey)[]
  /** What a name stands for, the names allowed, and a description of them for messages. */
  readonly names?: { readonly label: string; readonly pattern: RegExp; readonly hint: string }
  /** A sentence: what clients see in a tree without it. */
  readonly without: string
  /** @returns how many entries it holds. @throws Malformed when clients would fail on it */
  check(bytes: Buffer, key: DocumentKey): Promise<number>
  /** The plain form; the others stand beside it with their ending. */
  path(key: DocumentKey): RelPath
  /** The forms in which it is published; none where an `AdvisoryPlan` takes it in. */
  readonly kinds: readonly ('' | '.gz' | '.xz')[]
  /** As in `IndexPlan`. */
  readonly addressed: 'by-hash' | 'name'
}

/** The largest document; the components of all of Debian's main have 40 MB. */
export const MAX_DOCUMENT = 64 * 2 ** 20

/** @throws Malformed unless it is UTF-8 without control characters, at which readers stop */
export function decodeText(bytes: Buffer, what: string): string {
  if (!isUtf8(bytes)) malformed(`${what} is not UTF-8`)
  const text = bytes.toString('utf8')
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
  const odd = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.exec(text)
  if (odd !== null) malformed(`${what} holds the control character ${quote(odd[0])}`)
  return text
}

/** The text between the marks, one piece at a time. @param mark with the flag g */
export function* piecesOf(text: string, mark: RegExp): Generator<string> {
  let from = 0
  for (const { 0: found, index } of text.matchAll(mark)) {
    yield text.slice(from, index)
    from = index + found.length
  }
  yield text.slice(from)
}

/**
 * The parser's own search for keys that stand twice compares each with each: hours for a document of 4 MiB.
 * @throws Malformed
 */
function mustHaveUniqueKeys(read: Document.Parsed, what: string): void {
  visit(read, {
    Map(_, { items }) {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        const value = isScalar(key) ? key.value : key
        if (seen.has(value)) malformed(`${what} has the key ${quote(String(value))} twice in one mapping`)
        seen.add(value)
      }
    },
  })
}

/** Yields to other requests: checking a long document takes seconds. */
const breathe = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/**
 * The documents of a YAML stream, one at a time, so that memory and pauses are those of the largest.
 * @throws Malformed for what is no YAML, also for a document of more than 4 MiB
 */
export async function* readYaml(bytes: Buffer, what: string): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let number = 0
  for (const text of piecesOf(decodeText(bytes, what), /^---(?=[ \t\r]*$)/gm)) {
    if (
      text
        .replaceAll(/^#.*$/gm, '')
        .replaceAll(/^(\.\.\.|---|%YAML.*)\s*$/gm, '')
        .trim() === ''
    )
      continue
    number += 1
    if (text.length > 4 * 2 ** 20) malformed(`document ${number} of ${what} has more than ${printBytes(4 * 2 ** 20)}`)
    const read = parseDocument(text, { strict: true, uniqueKeys: false, logLevel: 'error' })
    const [fault] = read.errors
    if (fault !== undefined)
      malformed(`document ${number} of ${what} is no YAML (${fault.message.split('\n')[0]?.slice(0, 200) ?? ''})`)
    mustHaveUniqueKeys(read, `document ${number} of ${what}`)
    const value: unknown = toValue(() => read.toJS({ maxAliasCount: 100 }), `document ${number} of ${what}`)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return malformed(`document ${number} of ${what} is no mapping`)
    yield value as Readonly<Record<string, unknown>>
    if (number % 20 === 0) await breathe()
  }
}

function toValue(read: () => unknown, what: string): unknown {
  try {
    return read()
  } catch (error) {
    // aliases of aliases could expand beyond memory
    return malformed(`${what} cannot be read (${error instanceof Error ? error.message : String(error)})`, error)
  }
}

/** Groups, categories and advisories nest six deep. */
const MAX_DEPTH = 64

/**
 * Checks that it is one XML document with this outermost element.
 * @param element  what is counted: the elements of this name right below the outermost one
 * @returns how many there are. @throws Malformed
 */
export async function checkXml(
  bytes: Buffer,
  { what, root, element }: { readonly what: string; readonly root: string; readonly element: string },
): Promise<number> {
  const text = decodeText(bytes, what)
  const parser = new SaxesParser()
  let depth = 0
  let count = 0
  parser.on('error', error => malformed(`${what} is no XML (${error.message.slice(0, 200)})`, error))
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) malformed(`${what} says that it is ${quote(encoding)}`)
  })
  // its own entities could expand without bound in a reader
  parser.on('doctype', type => {
    if (type.includes('[')) malformed(`${what} declares entities of its own`)
    const [, system = ''] = /(?:"([^"]*)"|'[^']*')\s*$/.exec(type) ?? []
    if (/[:/]/.test(system)) malformed(`${what} names a document type elsewhere (${quote(system)})`)
  })
  parser.on('opentag', ({ name }) => {
    depth += 1
    if (depth > MAX_DEPTH) malformed(`${what} nests elements more than ${MAX_DEPTH} deep`)
    if (depth === 1 && name !== root) malformed(`${what} is a document of ${quote(name)}; ${root} is needed`)
    if (depth === 2 && name === element) count += 1
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  for (let at = 0; at < text.length; at += 2 ** 18) {
    parser.write(text.slice(at, at + 2 ** 18))
    await breathe()
  }
  parser.close()
  return count
}
