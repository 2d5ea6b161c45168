import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { malformed } from '../../lib/limited.ts'
import { fileHeader, padding } from '../../lib/tar-writer.ts'
import { readManifest, type BundleManifest } from './manifest.ts'
import { checkEnd, packEnd, readExactly, readHead, type ReadHead } from './signed-head.ts'

/** Where the bytes of a member lie in the file. */
interface Place {
  readonly at: number
  readonly size: number
}

/** A bundle whose beginning was read. */
export interface OpenBundle {
  readonly head: ReadHead
  readonly manifest: BundleManifest
  /** The size of the whole file, by its list. */
  readonly wholeBytes: number
  /** The size that the file has. */
  readonly sizeBytes: number
  /** The bytes of a member, in pieces of one buffer: each is used up before the next one is asked for. */
  read(sha256: string, signal: AbortSignal): AsyncGenerator<Buffer>
  sizeOf(sha256: string): number
  /**
   * Reads the file to its end and compares every byte with the list.
   * @throws Malformed where one differs, and the reason of `signal`
   */
  verify(signal: AbortSignal, told: (bytes: number) => Promise<void>): Promise<void>
  close(): Promise<void>
}

const PIECE = 1024 * 1024

/** The header of a member, as the writer writes it. */
export const memberHeader = (name: string, sha256: string, size: number): Buffer =>
  fileHeader(`${name}/files/${sha256}`, size)

/** Where each member lies, and where the last one ends. */
function placesOf(head: ReadHead, { files }: BundleManifest): { places: Map<string, Place>; end: number } {
  const places = new Map<string, Place>()
  let at = head.sizeBytes
  for (const { sha256, size } of files) {
    at += memberHeader(head.name, sha256, size).length
    places.set(sha256, { at, size })
    at += size + padding(size).length
  }
  return { places, end: at }
}

async function* pieces(handle: FileHandle, { at, size }: Place, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, Math.max(1, size)))
  for (let done = 0; done < size;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - done), at + done)
    if (bytesRead === 0) malformed('it is cut short')
    done += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Opens a bundle by its beginning. @throws Malformed where it is none, and the errors of the disk */
export async function openBundle(path: string): Promise<OpenBundle> {
  const handle = await open(path, 'r')
  try {
    const head = await readHead(handle, 'manifest.json')
    const manifest = readManifest(head.list)
    if (manifest.name !== head.name) malformed('its folder is not named as the bundle is')
    const { places, end } = placesOf(head, manifest)
    const placeOf = (sha256: string): Place =>
      places.get(sha256) ?? malformed(`it has no member ${sha256}, which its list needs`)

    async function verify(signal: AbortSignal, told: (bytes: number) => Promise<void>): Promise<void> {
      // first what costs nothing: a bundle that was cut is told at once
      await checkEnd(handle, end, head)
      let bytes = 0
      for (const { sha256, size } of manifest.files) {
        const place = placeOf(sha256)
        const header = memberHeader(head.name, sha256, size)
        const found = await readExactly(handle, place.at - header.length, header.length)
        if (!found.equals(header)) malformed(`it is damaged before the member ${sha256}`)
        const hash = createHash('sha256')
        for await (const piece of pieces(handle, place, signal)) {
          hash.update(piece)
          await told((bytes += piece.length))
        }
        if (hash.digest('hex') !== sha256) malformed(`its member ${sha256} is damaged`)
        const rest = padding(size)
        if (!(await readExactly(handle, place.at + size, rest.length)).equals(rest))
          malformed(`it is damaged behind the member ${sha256}`)
      }
    }

    return {
      head,
      manifest,
      wholeBytes: end + packEnd(head.name, head.sha256).length,
      sizeBytes: (await handle.stat()).size,
      read: (sha256, signal) => pieces(handle, placeOf(sha256), signal),
      sizeOf: sha256 => placeOf(sha256).size,
      verify,
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}
