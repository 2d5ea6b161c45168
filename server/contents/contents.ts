import type { Manifest } from '../core/manifest.ts'
import { readPooled, type Pool } from '../files/pool.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { NOTHING, type Contents } from './component.ts'
import type { JavaNames } from './java/coordinates.ts'
import { hasUnnamedJars, nameJars } from './java/late.ts'
import { createKept } from './kept.ts'
import { keyOfArriving, keyOfKept } from './key.ts'
import { READERS_VERSION } from './readers.ts'
import type { Read, ReadPackage } from './reading.ts'

/** The parts of a known package that are needed here. */
export type Carrier = Pick<Manifest, 'ref' | 'files' | 'kind'>

/** What packages carry inside, each read once and kept by its digest. */
export interface ContentsOf {
  /**
   * Of a file that has just arrived. @param what.known  what another thread read of it. @throws the signal's reason;
   * bad_package
   */
  read(what: Read & { readonly known?: Contents | undefined }, signal: AbortSignal): Promise<Contents>
  /** Of a package in the pool; a source package carries nothing that is installed. @throws as `read` */
  of(carrier: Carrier, signal: AbortSignal): Promise<Contents>
  /** What is kept of it; undefined while nobody has read it with the readers of this version. */
  known(carrier: Carrier): Promise<Contents | undefined>
}

export interface ContentsDeps {
  readonly pool: Pick<Pool, 'locate'>
  /** `createReading(…)` */
  readonly reading: ReadPackage
  /** As for `createReading`. */
  readonly cpuSeconds: () => number
  /** `security/contents`: a cache that may be removed at any time. */
  readonly folder: string
  /** Of this program: other readers, other contents. */
  readonly version: string
  /** What the loaded data know about Java libraries. Asked for jars without a pom of their own. */
  readonly javaNames: () => Promise<JavaNames>
}

/** Makes the reader and its cache, without what readers of other versions kept. */
export function createContents({ pool, reading, cpuSeconds, folder, version, javaNames }: ContentsDeps): ContentsOf {
  const lock = createKeyedLock()
  const kept = createKept(folder, `${version.replace(/[^\w.-]/g, '_')}-${READERS_VERSION}`)

  /** What is kept, unless more may be found now. */
  const find = async (digest: string): Promise<Contents | undefined> => {
    const known = await kept.find(digest)
    return typeof known?.again === 'object' && known.again.cpuSeconds < cpuSeconds() ? undefined : known
  }
  const keep = (digest: string, read: () => Promise<Contents>): Promise<Contents> =>
    lock.run(digest, async () => {
      const known = await find(digest)
      if (known !== undefined) return known
      const contents = await read()
      if (contents.again !== 'any time') await kept.add(digest, contents)
      return contents
    })

  // what is kept does not depend on the data, which change every day
  const named = async (contents: Contents): Promise<Contents> =>
    hasUnnamedJars(contents) ? nameJars(contents, await javaNames()) : contents

  return {
    read: async ({ known, ...what }, signal) =>
      named(
        await keep(keyOfArriving(what.file), () =>
          known === undefined ? reading(what, signal) : Promise.resolve(known),
        ),
      ),
    async of({ ref, files, kind }, signal) {
      if (kind === 'source') return NOTHING
      const contents = await keep(keyOfKept(files), async () =>
        reading({ format: ref.format, file: await readPooled(pool, files) }, signal),
      )
      return named(contents)
    },
    async known({ files, kind }) {
      if (kind === 'source') return NOTHING
      const known = await find(keyOfKept(files))
      return known === undefined ? undefined : named(known)
    },
  }
}
