import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { malformed } from '../../lib/limited.ts'
import type { CveRating } from '../advisory.ts'
import type { Ecosystem } from '../match/ecosystems.ts'
import { ratingsFile, readRatings } from './cve-ratings.ts'
import { readMeta, type Meta } from './generation-meta.ts'
import { createVulndbLayout, currentGeneration, hashOf, pieceFile, pieceOf, type VulndbLayout } from './layout.ts'
import { openShard, type Shard, type StoredRow } from './shards.ts'

/** One generation, as it was when it was opened. */
export interface Snapshot {
  readonly meta: Meta
  /** All rows for these names. @throws Malformed, or the file system's error, when a piece cannot be read */
  rows(ecosystem: Ecosystem, names: readonly string[]): Promise<readonly StoredRow[]>
  /** Every name that has rows in an ecosystem; reads its whole table. @throws as `rows` */
  names(ecosystem: Ecosystem): Promise<readonly string[]>
  /** What any feed says of a CVE. */
  ratings(cve: string): Promise<CveRating>
}

/** The compiled advisories. Each `open` gives the newest generation. */
export interface Database {
  /** Undefined before the first import. */
  open(): Promise<Snapshot | undefined>
}

/** How many bytes of unpacked pieces to keep. */
const MOST_CACHED = 48 * 1024 * 1024

type Opened = Shard & { readonly sizeBytes: number }

/** Keeps the most recently used entries, up to so many bytes. */
function createCache<T extends { readonly sizeBytes: number }>(mostBytes: number) {
  const kept = new Map<string, Promise<T>>()
  const sizes = new Map<string, number>()
  let bytes = 0
  const drop = (key: string): void => {
    kept.delete(key)
    bytes -= sizes.get(key) ?? 0
    sizes.delete(key)
  }
  return (key: string, load: () => Promise<T>): Promise<T> => {
    const known = kept.get(key)
    if (known !== undefined) {
      kept.delete(key)
      kept.set(key, known)
      return known
    }
    const loading = load()
    kept.set(key, loading)
    loading.then(
      value => {
        if (kept.get(key) !== loading) return
        sizes.set(key, value.sizeBytes)
        bytes += value.sizeBytes
        for (const oldest of kept.keys()) {
          if (bytes <= mostBytes || oldest === key) break
          drop(oldest)
        }
      },
      () => drop(key),
    )
    return loading
  }
}

function openSnapshot(place: VulndbLayout, meta: Meta): Snapshot {
  const folder = place.generation(meta.generation)
  const cached = createCache<Opened>(MOST_CACHED)
  const ratings = createCache<ReturnType<typeof readRatings>>(MOST_CACHED / 2)

  async function rowsOf(ecosystem: Ecosystem, name: string): Promise<readonly StoredRow[]> {
    const facts = meta.ecosystems[ecosystem]
    const piece = pieceOf(hashOf(name), facts?.digits ?? 0)
    // a missing piece is an error, never an empty answer
    if (facts?.pieces.includes(piece) !== true) return []
    const opened = await cached(`${ecosystem}/${piece}`, async () =>
      openShard(await readFile(join(folder, ecosystem, pieceFile(piece)))),
    )
    return opened.rows(name)
  }

  return {
    meta,
    async rows(ecosystem, names) {
      return (await Promise.all([...new Set(names)].map(name => rowsOf(ecosystem, name)))).flat()
    },
    async names(ecosystem) {
      const pieces = meta.ecosystems[ecosystem]?.pieces ?? []
      const names: string[] = []
      for (const piece of pieces)
        names.push(...openShard(await readFile(join(folder, ecosystem, pieceFile(piece)))).names())
      return names
    },
    async ratings(cve) {
      const path = ratingsFile(folder, cve, meta.vector_digits)
      const { byCve } = await ratings(path, async () => {
        const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return undefined
          throw error
        })
        return bytes === undefined ? { sizeBytes: 0, byCve: new Map() } : readRatings(bytes)
      })
      return byCve.get(cve) ?? {}
    },
  }
}

/** Opens `/repos/security/vulndb`. */
export function createDatabase({ security }: { readonly security: string }): Database {
  const place = createVulndbLayout({ security })
  let opened: Snapshot | undefined
  return {
    async open() {
      const generation = await currentGeneration(place)
      if (generation === undefined) return (opened = undefined)
      if (opened?.meta.generation === generation) return opened
      const meta =
        (await readMeta(place.generation(generation))) ??
        malformed(`generation ${generation} of the advisory tables has no meta.json`)
      return (opened = openSnapshot(place, meta))
    },
  }
}
