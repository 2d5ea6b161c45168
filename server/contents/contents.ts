import type { FormatId } from '../core/identity.ts'
import { receivedSha256, type Manifest } from '../core/manifest.ts'
import { readPooled, type Pool } from '../files/pool.ts'
import type { SpooledFile } from '../files/spool.ts'
import type { Unpacked } from '../files/unpacked.ts'
import type { Format } from '../formats/format.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { NOTHING, type Contents } from './component.ts'
import type { JavaNames } from './java/coordinates.ts'
import { hasUnnamedJars, nameJars } from './java/late.ts'
import { createKept } from './kept.ts'
import { LIMITS } from './limits.ts'
import { READERS, READERS_VERSION } from './readers.ts'
import { createRoom } from './room.ts'
import { UNPACKERS } from './unpackers.ts'
import { walk } from './walk.ts'

/** The parts of a known package that are needed here. */
export type Carrier = Pick<Manifest, 'ref' | 'files' | 'kind'>

/** A package whose bytes are at hand. */
export interface Read {
  readonly format: Pick<Format, 'inner'>
  readonly file: SpooledFile
  readonly unpacked?: Pick<Unpacked, 'read'> | undefined
}

/** What packages carry inside, each read once and kept by its digest. */
export interface ContentsOf {
  /** Of a file that has just arrived. @throws the signal's reason; bad_package */
  read(what: Read, signal: AbortSignal): Promise<Contents>
  /** Of a package in the pool; a source package carries nothing that is installed. @throws as `read` */
  of(carrier: Carrier, signal: AbortSignal): Promise<Contents>
  /** What is kept of it; undefined while nobody has read it with the readers of this version. */
  known(carrier: Carrier): Promise<Contents | undefined>
}

export interface ContentsDeps {
  readonly pool: Pick<Pool, 'locate'>
  readonly formats: (id: FormatId) => Pick<Format, 'inner'>
  /** `security/contents`: a cache that may be removed at any time. */
  readonly folder: string
  /** Where files that are too large for memory are held while they are read. */
  readonly incoming: string
  /** Of this program: other readers, other contents. */
  readonly version: string
  /** What the loaded data know about Java libraries. Asked for jars without a pom of their own. */
  readonly javaNames: () => Promise<JavaNames>
}

/** Reads a package now, whatever is kept of it. */
export function readContents(
  { format, file, unpacked }: Read,
  { incoming, signal, limits = LIMITS }: { incoming: string; signal: AbortSignal; limits?: typeof LIMITS },
): Promise<Contents> {
  return walk(format.inner(file, unpacked), {
    readers: READERS,
    unpackers: UNPACKERS,
    room: createRoom(incoming, limits),
    signal,
  })
}

/** Makes the reader and its cache, without what readers of other versions kept. */
export function createContents({ pool, formats, folder, incoming, version, javaNames }: ContentsDeps): ContentsOf {
  const lock = createKeyedLock()
  const kept = createKept(folder, `${version.replace(/[^\w.-]/g, '_')}-${READERS_VERSION}`)

  const keep = (digest: string, read: () => Promise<Contents>): Promise<Contents> =>
    lock.run(digest, async () => {
      const known = await kept.find(digest)
      if (known !== undefined) return known
      const contents = await read()
      await kept.add(digest, contents)
      return contents
    })

  // what is kept does not depend on the data, which change every day
  const named = async (contents: Contents): Promise<Contents> =>
    hasUnnamedJars(contents) ? nameJars(contents, await javaNames()) : contents

  return {
    read: async (what, signal) =>
      named(await keep(what.file.blob.sha256, () => readContents(what, { incoming, signal }))),
    async of({ ref, files, kind }, signal) {
      if (kind === 'source') return NOTHING
      const contents = await keep(receivedSha256(files[0]), async () =>
        readContents({ format: formats(ref.format), file: await readPooled(pool, files) }, { incoming, signal }),
      )
      return named(contents)
    },
    async known({ files, kind }) {
      if (kind === 'source') return NOTHING
      const known = await kept.find(receivedSha256(files[0]))
      return known === undefined ? undefined : named(known)
    },
  }
}
