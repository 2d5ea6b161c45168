import { statSync } from 'node:fs'
import type { FileVersion, SendOptions } from './file-answer.ts'

/** A published file whose bytes are in memory. */
export interface KeptFile extends SendOptions {
  readonly path: string
  readonly version: FileVersion
  readonly bytes: Buffer
}

/** A kept file, and how a small one is written for a third less: Node sends a text in one piece with the headers. */
export interface Found extends KeptFile {
  /** One character for each byte (latin1); undefined for a larger file. */
  readonly text: string | undefined
}

/** Files that clients ask for again and again, by the address that was asked for. */
export interface KeptFiles<About> {
  has(address: string): boolean
  /** The file as it is on the disk at this moment; undefined when it is not kept, or is another now. */
  find(address: string): (Found & About) | undefined
  keep(address: string, file: KeptFile & About): void
}

const MOST_BYTES = 32 * 1024 * 1024
/** Headers and text together fit the 16 KiB that Node can write without asking for memory. */
const TEXT_BYTES = 14 * 1024
/** What an entry costs beside its bytes. */
const ENTRY_BYTES = 1024

function isOnDisk({ path, version: { ino, size, mtimeMs } }: KeptFile): boolean {
  try {
    // in this thread: for a path that was asked for just now, the kernel answers without the disk
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat !== undefined && stat.ino === ino && stat.size === size && stat.mtimeMs === mtimeMs
  } catch {
    return false // who opens it says what is wrong
  }
}

/**
 * Keeps bytes in memory within a bound; those that were not asked for longest go first. One look at the disk answers
 * the requests that came in one turn of the event loop, which had all arrived before it: a publication that goes live,
 * or a file that is removed, is seen by the next request.
 * @param mostBytes  for tests, instead of 32 MB
 */
export function createKeptFiles<About>(mostBytes = MOST_BYTES): KeptFiles<About> {
  const files = new Map<string, Found & About>()
  /** Those found on the disk in this turn of the event loop. */
  const seen = new Set<Found>()
  let total = 0
  const costOf = ({ bytes, text = '' }: Found): number => bytes.length + text.length + ENTRY_BYTES

  function drop(address: string): void {
    const file = files.get(address)
    if (file === undefined) return
    files.delete(address)
    total -= costOf(file)
  }
  /** Whether it is still that file; then it is the one asked for last. */
  function look(address: string, file: Found & About): boolean {
    if (!isOnDisk(file)) {
      drop(address)
      return false
    }
    files.delete(address)
    files.set(address, file)
    if (seen.size === 0) setImmediate(() => seen.clear())
    seen.add(file)
    return true
  }
  return {
    has: address => files.has(address),
    find(address) {
      const file = files.get(address)
      return file !== undefined && (seen.has(file) || look(address, file)) ? file : undefined
    },
    keep(address, file) {
      drop(address)
      const { bytes } = file
      const found = { ...file, text: bytes.length <= TEXT_BYTES ? bytes.toString('latin1') : undefined }
      files.set(address, found)
      total += costOf(found)
      for (const [oldest] of files) {
        if (total <= mostBytes) return
        drop(oldest)
      }
    },
  }
}
