import { createHash, type Hash } from 'node:crypto'
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
  /** @throws Malformed when the archive is cut off, or has not every file that the header lists */
  end(): void
}

/** Digests the content of one file after the other, and compares. */
function createContents(
  files: readonly HeaderFile[],
  algorithm: string,
): { begin(index: number): void; push(bytes: Buffer): void } {
  let hash: Hash | undefined
  let current = -1
  return {
    begin(index) {
      const file = files[current]
      if (hash !== undefined && file !== undefined && hash.digest('hex') !== file.digest) {
        malformed(
          `${WHAT}: the ${algorithm} digest of ${quote(file.name)} is not the one in the header, and rpm would not install it`,
        )
      }
      current = index
      hash = files[index]?.digest === undefined ? undefined : createHash(algorithm)
    },
    push: bytes => hash?.update(bytes),
  }
}

/**
 * @param files  as `readFiles` gave them
 * @param algorithm  of their digests, where these are to be compared
 */
export function createPayloadReader(files: readonly HeaderFile[], algorithm?: string): PayloadReader {
  const numbers = new Map(files.map((file, index) => [file.name, index]))
  const found = new Uint8Array(files.length)
  const cpio = createCpioReader({
    what: WHAT,
    maxEntries: MAX_FILES,
    fileAt(index) {
      const file = files[index]
      return file === undefined ? undefined : { name: `./${file.name}`, mode: file.mode, size: file.packedSize }
    },
  })

  const contents = algorithm === undefined ? undefined : createContents(files, algorithm)

  const check = (entry: CpioEntry): number => {
    const name = cleanPath(entry.name, WHAT)
    const index =
      entry.index ?? numbers.get(name) ?? malformed(`${WHAT} holds ${quote(name)}, which the header does not list`)
    if (found[index] === 1) malformed(`${WHAT} has ${quote(name)} twice`)
    found[index] = 1
    const listed = typeOfMode(files[index]?.mode ?? 0)
    if (listed !== entry.type)
      malformed(`${WHAT}: ${quote(name)} is a ${entry.type}, and the header says it is a ${listed ?? 'file'}`)
    // of several hard links all but the last are empty; what unpacks to more than the header says is a bomb or a lie
    const size = files[index]?.packedSize ?? 0
    if (entry.size !== size)
      malformed(`${WHAT}: ${quote(name)} says it has ${entry.size} bytes, and the header says ${size}`)
    return index
  }
  return {
    push(chunk) {
      const parts = cpio.push(chunk)
      for (const part of parts) {
        if ('bytes' in part) contents?.push(part.bytes)
        else {
          const index = check(part)
          contents?.begin(index)
        }
      }
      return parts
    },
    end() {
      cpio.end()
      contents?.begin(-1)
      const missing = files.find((file, index) => !file.isGhost && found[index] !== 1)
      if (missing !== undefined) malformed(`the header lists ${quote(missing.name)}, which ${WHAT} does not hold`)
    },
  }
}
