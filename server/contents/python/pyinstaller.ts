import { pipeline, Readable } from 'node:stream'
import { createInflate } from 'node:zlib'
import { malformed } from '../../lib/limited.ts'
import { chunksOf, fileWithin } from '../open-file.ts'
import type { HeldFile, OpenFile, OtherMember, Room, Unopened, Unpacker } from '../reader.ts'

const COOKIE = Buffer.from('MEI\x0c\x0b\x0a\x0b\x0e', 'latin1')
const COOKIE_BYTES = 88
/** A signature may stand behind the cookie. */
const TAIL = 256 * 1024
const MOST_TABLE = 16 * 2 ** 20
const ENTRY = 18

interface Entry {
  readonly name: string
  readonly offset: number
  readonly packed: number
  readonly isPacked: boolean
  /** `b` a library, `x` data, `Z` a zip, `z` the archive of modules; others are code. */
  readonly type: string
}

/** The table of an archive, from the cookie at the end of its program; undefined for other programs. */
async function tableOf(file: OpenFile): Promise<{ readonly bytes: Buffer; readonly start: number } | undefined> {
  const from = Math.max(0, file.size - TAIL)
  const tail = await file.read(from, TAIL)
  const at = tail.lastIndexOf(COOKIE)
  if (at === -1 || at + COOKIE_BYTES > tail.length) return undefined
  const [length, offset, size] = [tail.readUInt32BE(at + 8), tail.readUInt32BE(at + 12), tail.readUInt32BE(at + 16)]
  const start = from + at + COOKIE_BYTES - length
  // the cookie stands in the loader's own text, too
  if (start < 0 || offset + size > length || size < ENTRY) return undefined
  if (size > MOST_TABLE) malformed(`the table of its archive has ${size} bytes`)
  return { bytes: await file.read(start + offset, size), start }
}

function* entriesOf(table: Buffer, start: number): Generator<Entry> {
  for (let at = 0; at + ENTRY <= table.length;) {
    const size = table.readUInt32BE(at)
    if (size < ENTRY || at + size > table.length) malformed('the table of its archive is damaged')
    const [name = ''] = table.toString('utf8', at + ENTRY, at + size).split('\0', 1)
    yield {
      name: name.replaceAll('\\', '/').replace(/^\/+/, ''),
      offset: start + table.readUInt32BE(at + 4),
      packed: table.readUInt32BE(at + 8),
      isPacked: table[at + 16] === 1,
      type: String.fromCharCode(table[at + 17] ?? 0),
    }
    at += size
  }
}

async function* inflated(file: OpenFile): AsyncGenerator<Buffer> {
  const [engine, source] = [createInflate(), chunksOf(file)]
  pipeline(Readable.from(source), engine, () => {})
  try {
    for await (const chunk of engine) yield chunk as Buffer
  } catch (error) {
    if (/^ERR_|^Z_/.test(String((error as { code?: unknown }).code))) malformed('it is damaged', error)
    throw error
  } finally {
    engine.destroy()
    await source.return(undefined)
  }
}

const isHeld = (file: object): file is HeldFile => 'close' in file

async function openEntry(file: OpenFile, entry: Entry, room: Room): Promise<OpenFile | Unopened | OtherMember> {
  const path = `${file.path}!/${entry.name}`
  if (entry.type === 'z')
    return { path, size: entry.packed, why: 'It holds compiled modules of Python, which do not say their versions.' }
  if (!'bxZ'.includes(entry.type)) return { other: path }
  const packed = await fileWithin(file, { path, offset: entry.offset, size: entry.packed })
  return entry.isPacked ? room.hold(path, room.inflate(inflated(packed), entry.packed)) : packed
}

/**
 * Programs that PyInstaller built: a loader with an archive behind it. Source: pyinstaller.org, advanced topics,
 * "CArchive"
 */
export const pyInstaller: Unpacker = {
  id: 'pyinstaller',
  wants: ({ size, head }) =>
    size > 16_384 && /^(?:7f454c46|4d5a|cffaedfe|cefaedfe|cafebabe)/.test(head.toString('hex', 0, 4)),
  async *files(file, room) {
    const table = await tableOf(file)
    if (table === undefined) return
    let n = 0
    for (const entry of entriesOf(table.bytes, table.start)) {
      if (++n > room.limits.entries) malformed(`it holds more than ${room.limits.entries} entries`)
      const opened = await openEntry(file, entry, room)
      try {
        yield opened
      } finally {
        if (isHeld(opened)) await opened.close()
      }
    }
  },
}
