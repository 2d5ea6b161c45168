import { isRefusal } from '../core/errors.ts'
import type { InnerStream } from '../formats/format.ts'
import { Malformed } from '../lib/limited.ts'
import { machineFaultOf } from '../lib/machine-faults.ts'
import { cpioFiles, isCpio } from './archives/cpio.ts'
import { isTar, tarFiles } from './archives/tar.ts'
import { componentAt, sortComponents, type Component, type Contents } from './component.ts'
import { HEAD_BYTES, memoryFile } from './open-file.ts'
import { peek } from './peek.ts'
import type { EntryFacts, Found, OpenFile, OtherMember, Reader, Room, Unopened, Unpacker } from './reader.ts'
import { Spent } from './room.ts'
import { createInstalling } from './scripts/installing.ts'
import { sourceOfStream } from './source.ts'

/** What reads a package. */
export interface WalkDeps {
  readonly readers: readonly Reader[]
  readonly unpackers: readonly Unpacker[]
  readonly room: Room
  readonly signal: AbortSignal
  readonly tries?: Tries
}

/**
 * What earlier readings of the same package broke at. Files are counted from 1, in the order in which they are read.
 */
export interface Tries {
  /** Told which file is read from now on; 0: none. */
  readonly at: (n: number) => void
  /** Files that are named as unopened, and why: one sentence each. */
  readonly skip: ReadonlyMap<number, string>
  /** The file at which reading ends. */
  readonly end?: number | undefined
}

const FIRST_TRY: Tries = { at: () => {}, skip: new Map() }

const MOST_UNOPENED = 500
/** What is installed; everything else in a package stands under its own name. */
export const PAYLOADS: ReadonlySet<string> = new Set(['data.tar', 'payload.cpio'])
const MAX_PAYLOAD_ENTRIES = 300_000

interface Named {
  readonly found: Found
  readonly file: string
}

/** A program or library as a loader takes it: ELF, PE, Mach-O. */
const isProgram = (head: Buffer): boolean =>
  head.toString('latin1', 0, 4) === '\x7fELF' ||
  (head.toString('latin1', 0, 2) === 'MZ' && head.length === HEAD_BYTES) ||
  ['cffaedfe', 'cefaedfe', '0061736d'].includes(head.toString('hex', 0, 4))

/** Why a file was not read, in one sentence, whatever its reader threw. @throws what ends the reading of the package */
function whyNot(error: unknown): string {
  if (error instanceof Spent) throw error
  const why = error instanceof Malformed ? error.why : error instanceof Error ? error.message : String(error)
  if (machineFaultOf(error) !== undefined)
    throw new Spent(`The package could not be read to its end: ${why}.`, { cause: error, again: 'any time' })
  return `It could not be read to its end: ${why.replace(/\.$/, '')}.`
}

/** What Python calls a module of C: with the interpreter it is for, or without. */
const EXTENSION = /\.(?:cpython-\w+(?:-[\w-]+)?|abi3|pypy\d+-[\w-]+)\.so$/

/** The paths of a package, to look up whether something is there. */
function createPaths() {
  const paths = new Set<string>()
  const folders = new Set<string>()
  const add = (path: string): void => {
    paths.add(path)
    if (path.endsWith('.so')) paths.add(path.replace(EXTENSION, '.so'))
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at)
      if (folders.has(folder)) return
      folders.add(folder)
    }
  }
  return { add, has: (path: string): boolean => paths.has(path) || folders.has(path.replace(/\/$/, '')) }
}

/** Reads the files of one package, one after the other, and those of the archives among them. */
function createWalk({ readers, unpackers, room, signal, tries = FIRST_TRY }: WalkDeps) {
  const named: Named[] = []
  const unopened = new Map<string, Unopened>()
  const paths = createPaths()
  const installing = createInstalling()
  let more = 0
  let hasPrograms = false
  let visited = 0

  const leave = (one: Unopened): void => {
    paths.add(one.path)
    if (unopened.has(one.path)) return
    if (unopened.size < MOST_UNOPENED) unopened.set(one.path, one)
    else more++
  }

  async function read(reader: Reader, file: OpenFile): Promise<void> {
    try {
      const reading = await reader.read(file)
      for (const found of reading.found) named.push({ found, file: file.path })
      for (const one of reading.unopened ?? []) leave(one)
    } catch (error) {
      leave({ path: file.path, size: file.size, why: whyNot(error) })
    }
    if (named.length > room.limits.components)
      throw new Spent(`The package names more than ${room.limits.components} components; the rest was not read.`)
  }

  async function unpack(unpacker: Unpacker, file: OpenFile, { depth, n }: { depth: number; n: number }): Promise<void> {
    const { path, size } = file
    if (depth > room.limits.depth)
      return leave({ path, size, why: `It lies more than ${room.limits.depth} archives deep.` })
    try {
      for await (const inner of unpacker.files(file, room)) {
        await visit(inner, depth)
        tries.at(n)
      }
    } catch (error) {
      leave({ path, size, why: whyNot(error) })
    }
  }

  /** What the list of installed files says; archives among them are another matter. */
  const list = (path: string, entry: EntryFacts | undefined, depth: number): void => {
    if (depth === 0 && entry !== undefined && !path.includes('!/')) installing.entry(path, entry)
  }

  async function visit(file: OpenFile | OtherMember | Unopened, depth = 0, interpreter?: string): Promise<void> {
    signal.throwIfAborted()
    if ('why' in file) return leave(file)
    if ('other' in file) {
      room.pass()
      paths.add(file.other)
      list(file.other, file.entry, depth)
      return
    }
    const counted = room.enter(file)
    paths.add(file.path)
    list(file.path, file.entry, depth)
    if (file.size === 0) return depth === 0 ? installing.file(counted, interpreter) : undefined
    const n = ++visited
    const why = tries.skip.get(n)
    if (why !== undefined) return leave({ path: file.path, size: file.size, why })
    if (n === tries.end)
      throw new Spent(`Reading it ended at ${file.path} (${file.size} bytes), after several files that broke it.`)
    tries.at(n)
    if (depth === 0) await installing.file(counted, interpreter)
    await look(file, counted, { depth, n })
  }

  async function look(file: OpenFile, counted: OpenFile, { depth, n }: { depth: number; n: number }): Promise<void> {
    hasPrograms ||= isProgram(file.head)
    for (const reader of readers) if (reader.wants(counted)) await read(reader, counted)
    for (const unpacker of unpackers)
      if (unpacker.wants(counted)) await unpack(unpacker, counted, { depth: depth + 1, n })
  }

  return {
    visit,
    result(cut?: string, again?: Contents['again']): Contents {
      // what lies behind the cut may be what a component needs
      const isLeftover = ({ presence, needs }: Found): boolean =>
        cut === undefined && presence === 'shipped' && needs?.some(paths.has) === false
      const standing = named.filter(({ found }) => found.unless?.some(path => paths.has(path)) !== true)
      const components = standing.map(({ found, file }): Component => {
        return componentAt(isLeftover(found) ? { ...found, presence: 'declared' } : found, file)
      })
      const install = installing.result()
      return {
        components: sortComponents(components),
        unopened: [...unopened.values()].sort((a, b) => (a.path < b.path ? -1 : 1)),
        ...(more === 0 ? {} : { more }),
        ...(cut === undefined ? {} : { cut }),
        ...(again === undefined ? {} : { again }),
        ...(hasPrograms ? { hasPrograms } : {}),
        ...(install === undefined ? {} : { install }),
      }
    },
  }
}

/** The files of one inner stream of a package: a tar, a cpio, or one file that is neither. */
export async function* filesOf(inner: InnerStream, room: Room): AsyncGenerator<OpenFile | OtherMember | Unopened> {
  const place = PAYLOADS.has(inner.name) ? '' : `${inner.name}!/`
  const peeked = await peek(inner.open())
  if (peeked === undefined) return
  const source = sourceOfStream(peeked.chunks, room)
  const limits = { place, entries: MAX_PAYLOAD_ENTRIES, isChecked: true }
  try {
    if (isTar(peeked.head)) yield* tarFiles(source, limits)
    else if (isCpio(peeked.head)) yield* cpioFiles(source, limits)
    else {
      const file = await room.hold(inner.name, peeked.chunks)
      try {
        yield file
      } finally {
        await file.close()
      }
    }
  } finally {
    await source.close()
  }
}

interface Listed {
  readonly file: OpenFile | OtherMember | Unopened
  /** Of a script, where the format keeps it beside. */
  readonly interpreter: string | undefined
}

/** The same with what the format keeps beside them; also scripts that are only an interpreter, as rpm allows. */
async function* listedFiles(inner: InnerStream, room: Room): AsyncGenerator<Listed> {
  const { name, interpreters, files } = inner
  const seen = new Set<string>()
  const hides = await inner.hides?.()
  for await (const file of filesOf(inner, room)) {
    const path = 'other' in file ? file.other : file.path
    // what a later layer removes or replaces is in no file system
    if (hides?.(path.slice(path.indexOf('!/') + 2)) === true) continue
    const script = path.slice(name.length + 2)
    if (interpreters?.has(script) === true) seen.add(script)
    const kept = files?.get(path)
    const entry = 'why' in file ? undefined : file.entry
    const { mode, capabilities } = kept ?? {}
    const beside = { ...(mode === undefined ? {} : { mode }), ...(capabilities === undefined ? {} : { capabilities }) }
    yield {
      file: kept !== undefined && entry !== undefined ? { ...file, entry: { ...entry, ...beside } } : file,
      interpreter: interpreters?.get(script),
    }
  }
  for (const [script, interpreter] of interpreters ?? [])
    if (!seen.has(script)) yield { file: memoryFile(`${name}!/${script}`, Buffer.alloc(0)), interpreter }
}

/**
 * Reads a package once: every file goes through all readers, and every archive is taken apart. Whatever was not read is
 * named in the result.
 * @throws the signal's reason; what `streams` throws
 */
export async function walk(streams: AsyncIterable<InnerStream>, deps: WalkDeps): Promise<Contents> {
  const { visit, result } = createWalk(deps)
  try {
    for await (const inner of streams) {
      deps.tries?.at(0)
      for await (const { file, interpreter } of listedFiles(inner, deps.room)) {
        await visit(file, 0, interpreter)
        deps.tries?.at(0)
      }
    }
  } catch (error) {
    deps.signal.throwIfAborted()
    if (error instanceof Spent) return result(error.why, error.again)
    if (error instanceof Malformed) return result(`The payload could not be read to its end: ${error.why}.`)
    if (isRefusal(error, 'bad_package')) return result(`The package could not be read to its end. ${error.message}`)
    throw error
  }
  return result()
}
