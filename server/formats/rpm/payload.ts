import type { CpioEntry, CpioPart } from '../../lib/cpio.ts'
import { createCpioReader, typeOfMode } from '../../lib/cpio.ts'
import { malformed, quote } from '../../lib/limited.ts'
import type { HeaderFile } from './files.ts'
import { MAX_FILES, cleanPath } from './files.ts'

const WHAT = 'payload.cpio'

/** Walks the payload beside the file list of the header: rpm installs what both have, so both must have the same. */
export interface PayloadReader {
  /** @throws Malformed */
  push(chunk: Buffer): CpioPart[]
  /** @throws Malformed when the archive is not whole, or lacks a file that the header lists */
  end(): void
}

/** @param files as `readFiles` gave them */
export function createPayloadReader(files: readonly HeaderFile[]): PayloadReader {
  const numbers = new Map(files.map((file, index) => [file.name, index]))
  const found = new Uint8Array(files.length)
  const cpio = createCpioReader({
    what: WHAT, maxEntries: MAX_FILES,
    fileAt(index) {
      const file = files[index]
      return file === undefined ? undefined : { name: `./${file.name}`, mode: file.mode, size: file.packedSize }
    },
  })

  const check = (entry: CpioEntry): void => {
    const name = cleanPath(entry.name, WHAT)
    const index = entry.index ?? numbers.get(name) ?? malformed(`${WHAT} holds ${quote(name)}, which the header does not list`)
    if (found[index] === 1) malformed(`${WHAT} has ${quote(name)} twice`)
    found[index] = 1
    const listed = typeOfMode(files[index]?.mode ?? 0)
    if (listed !== entry.type) malformed(`${WHAT}: ${quote(name)} is a ${entry.type}, and the header says it is a ${listed ?? 'file'}`)
    const size = files[index]?.size ?? 0
    // of several hard links all but one are empty; what unpacks to more than the header says is a bomb or a lie
    if (entry.size !== 0 && entry.size !== size) malformed(`${WHAT}: ${quote(name)} says it has ${entry.size} bytes, and the header says ${size}`)
  }
  return {
    push(chunk) {
      const parts = cpio.push(chunk)
      for (const part of parts) if (!('bytes' in part)) check(part)
      return parts
    },
    end() {
      cpio.end()
      const missing = files.find((file, index) => !file.isGhost && found[index] !== 1)
      if (missing !== undefined) malformed(`the header lists ${quote(missing.name)}, which ${WHAT} does not hold`)
    },
  }
}
