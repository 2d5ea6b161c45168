import type { SpooledFile } from '../../files/spool.ts'
import type { Unpacked } from '../../files/unpacked.ts'
import { unpack } from '../../lib/decompress.ts'
import { openWindow } from '../../lib/file-window.ts'
import { malformed, printBytes, quote } from '../../lib/limited.ts'
import type { Compression, Packed } from '../../lib/packed.ts'
import { createTarReader } from '../../lib/tar.ts'
import { BLOCK, checkHeader, type TarEntry } from '../../lib/tar-header.ts'

/** The most that an image may unpack to, and entries of all its layers together. */
const MAX_UNPACKED = 32 * 2 ** 30
export const MAX_ENTRIES = 1_000_000
/** Real layers unpack to a few times their size; from so many bytes on, more than this ratio is a bomb. */
const BOMB_FROM = 512 * 2 ** 20
const BOMB_RATIO = 250
const LONGEST_PATH = 4096

const MAGICS: readonly (readonly [string, Compression])[] = [
  ['1f8b', 'gzip'],
  ['28b52ffd', 'zstd'],
  ['fd377a585a00', 'xz'],
  ['425a68', 'bzip2'],
]

/** A blob of an image, by its place among the layers. */
export interface Layer {
  /** `layer-1-sha256-0123456789ab`: named in findings. */
  readonly name: string
  readonly file: SpooledFile
}

async function* read(path: string): AsyncGenerator<Buffer> {
  const window = await openWindow({ path })
  try {
    yield* window.stream(0, window.size)
  } finally {
    await window.close()
  }
}

async function headOf({ path, head }: SpooledFile): Promise<Buffer> {
  if (head.length > 0) return Buffer.from(head)
  const window = await openWindow({ path })
  try {
    return Buffer.from(await window.read(0, Math.min(BLOCK, window.size)))
  } finally {
    await window.close()
  }
}

/** How a blob is compressed, by its first bytes: clients do not go by the media type either. */
async function packedOf({ name, file }: Layer): Promise<Packed> {
  const begin = (await headOf(file)).toString('hex', 0, 6)
  const compression = MAGICS.find(([magic]) => begin.startsWith(magic))?.[1] ?? 'none'
  const { path } = file
  return { what: name, compression, size: file.blob.size, place: { path, offset: 0 }, chunks: () => read(path) }
}

/** What all layers of one image may unpack to. */
export interface LayerRoom {
  unpacked: number
  entries: number
}
export const newRoom = (): LayerRoom => ({ unpacked: 0, entries: 0 })

async function* bounded(chunks: AsyncIterable<Buffer>, packed: Packed, room: LayerRoom): AsyncGenerator<Buffer> {
  let seen = 0
  for await (const chunk of chunks) {
    seen += chunk.length
    room.unpacked += chunk.length
    if (room.unpacked > MAX_UNPACKED)
      malformed(`its layers unpack to more than ${printBytes(MAX_UNPACKED)}, the most an image may hold`)
    if (seen > BOMB_FROM && seen > packed.size * BOMB_RATIO)
      malformed(`${packed.what} unpacks to more than ${BOMB_RATIO} times its size, as only a bomb does`)
    yield chunk
  }
}

/** The bytes of a layer, unpacked: a plain tar, or whatever it is. @throws Malformed while read */
export async function* openLayer(
  layer: Layer,
  { room = newRoom(), unpacked }: { readonly room?: LayerRoom; readonly unpacked?: Pick<Unpacked, 'read'> } = {},
): AsyncGenerator<Buffer> {
  const packed = await packedOf(layer)
  const copy = unpacked?.read({ what: packed.what, compression: packed.compression })
  yield* copy ?? bounded(unpack(packed), packed, room)
}

/** True for the first block of a tar. */
function beginsTar(block: Buffer, what: string): boolean {
  if (block.length < BLOCK) return false
  if (block.toString('latin1', 257, 262) === 'ustar') return true
  try {
    checkHeader(block, { dialect: 'any', what })
    return true
  } catch {
    return false
  }
}

// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
const CONTROL = /[\u0000-\u001f\u007f]/

/** Where an entry leads, relative to the root; '' is the root. @throws Malformed for names that lead out of it */
export function pathOf(name: string, what: string): string {
  if (name.length > LONGEST_PATH) malformed(`${what}: a name has more than ${LONGEST_PATH} characters`)
  if (CONTROL.test(name)) malformed(`${what}: the name ${quote(name)} holds a control character`)
  const segments = name.split('/').filter(segment => segment !== '' && segment !== '.')
  if (segments.includes('..')) malformed(`${what}: the name ${quote(name)} leads out of its folder with ..`)
  return segments.join('/')
}

/** @throws Malformed for what no image may bring */
function checkEntry(entry: TarEntry, what: string): void {
  const path = pathOf(entry.name, what)
  if (entry.type === 'char' || entry.type === 'block')
    malformed(`${what}: ${quote(path)} is a device node; the runtime makes /dev, an image must not bring devices`)
  if (entry.type === 'hardlink') pathOf(entry.link, `${what}, hard link ${quote(path)}`)
}

/**
 * Reads a layer of an image to its end. @returns what it is: `opaque` begins as no tar does, and is looked at as a file
 * @throws Malformed for a tar that clients read differently, leads out of the root, or brings devices
 */
export async function inspectLayer(
  layer: Layer,
  {
    signal,
    room,
    unpacked,
  }: { readonly signal: AbortSignal; readonly room: LayerRoom; readonly unpacked: Pick<Unpacked, 'keep'> | undefined },
): Promise<'tar' | 'opaque'> {
  const packed = await packedOf(layer)
  const { name: what } = layer
  const tar = createTarReader({ what, maxEntries: MAX_ENTRIES })
  const chunks = bounded(unpack(packed), packed, room)
  let held = Buffer.alloc(0)
  let kind: 'tar' | 'opaque' | undefined
  const pass = (chunk: Buffer): void => {
    for (const entry of tar.push(chunk)) {
      room.entries += 1
      if (room.entries > MAX_ENTRIES) malformed(`its layers hold more than ${MAX_ENTRIES} entries`)
      checkEntry(entry, what)
    }
  }
  const part = { what, compression: packed.compression }
  for await (const chunk of unpacked === undefined ? chunks : unpacked.keep(part, chunks)) {
    signal.throwIfAborted()
    if (kind === 'opaque') continue
    if (kind === 'tar') pass(chunk)
    else {
      held = Buffer.concat([held, chunk])
      if (held.length < BLOCK) continue
      kind = beginsTar(held.subarray(0, BLOCK), what) || isBlank(held) ? 'tar' : 'opaque'
      if (kind === 'tar') pass(held)
    }
  }
  if (kind === 'tar') tar.end()
  return kind ?? 'opaque'
}

/** An empty tar is only its end mark. */
const isBlank = (bytes: Buffer): boolean => bytes.subarray(0, BLOCK).every(byte => byte === 0)
