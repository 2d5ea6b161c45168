import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NOTHING, type Contents } from './component.ts'

/**
 * What was read of packages, by the SHA-256 of their bytes. A cache: what is lost is read again, so nothing is forced
 * to the disk.
 */
export interface Kept {
  /** @returns undefined for what was not read, or is damaged */
  find(digest: string): Promise<Contents | undefined>
  add(digest: string, contents: Contents): Promise<void>
}

const DIGEST_BYTES = 32

const isNothing = ({ components, unopened, more, cut, install }: Contents): boolean =>
  components.length === 0 && unopened.length === 0 && more === undefined && cut === undefined && install === undefined

/**
 * Most packages carry nothing: their digests stand in one file, one after the other, which costs an upload less than a
 * file for each.
 */
function createEmpties(path: string) {
  let loaded: Promise<Set<string>> | undefined
  let waiting: Buffer[] = []
  let writing = Promise.resolve()

  async function load(): Promise<Set<string>> {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0))
    const whole = Math.floor(bytes.length / DIGEST_BYTES) * DIGEST_BYTES
    // a kill may have cut the last one off
    if (whole < bytes.length) await writeFile(path, bytes.subarray(0, whole))
    const digests = new Set<string>()
    for (let at = 0; at < whole; at += DIGEST_BYTES) digests.add(bytes.toString('latin1', at, at + DIGEST_BYTES))
    return digests
  }
  const digests = (): Promise<Set<string>> => (loaded ??= load())

  async function flush(): Promise<void> {
    const some = Buffer.concat(waiting)
    waiting = []
    if (some.length === 0) return
    try {
      await appendFile(path, some)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await mkdir(dirname(path), { recursive: true })
      await appendFile(path, some)
    }
  }

  return {
    has: async (digest: Buffer): Promise<boolean> => (await digests()).has(digest.toString('latin1')),
    async add(digest: Buffer): Promise<void> {
      const known = await digests()
      if (known.has(digest.toString('latin1'))) return
      known.add(digest.toString('latin1'))
      waiting.push(digest)
      // those that come while one write runs share the next
      writing = writing.catch(() => undefined).then(flush)
      await writing
    },
  }
}

/**
 * The cache in `folder`, for the readers of one version: removes what others kept, with the first that it adds.
 * @param generation  the name of that version, one segment of a path
 */
export function createKept(folder: string, generation: string): Kept {
  const empties = createEmpties(join(folder, generation, 'empty'))
  const pathOf = (digest: string): string => join(folder, generation, digest.slice(0, 2), `${digest}.json`)

  let isSwept: Promise<void> | undefined
  async function sweep(): Promise<void> {
    const names = await readdir(folder).catch(() => [])
    await Promise.all(
      names.filter(name => name !== generation).map(name => rm(join(folder, name), { recursive: true, force: true })),
    )
  }

  return {
    async find(digest) {
      if (await empties.has(Buffer.from(digest, 'hex'))) return NOTHING
      const path = pathOf(digest)
      // mostly in vain: a rejected promise costs ten times as much
      if (!existsSync(path)) return undefined
      try {
        return JSON.parse(await readFile(path, 'utf8')) as Contents
      } catch {
        return undefined
      }
    },
    async add(digest, contents) {
      await (isSwept ??= sweep())
      if (isNothing(contents)) return empties.add(Buffer.from(digest, 'hex'))
      const path = pathOf(digest)
      const part = `${path}.${randomBytes(6).toString('hex')}`
      await mkdir(dirname(path), { recursive: true })
      await writeFile(part, JSON.stringify(contents))
      await rename(part, path)
    },
  }
}
