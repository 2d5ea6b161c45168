import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SkipCounts } from '../advisory.ts'
import type { Ecosystem } from '../match/ecosystems.ts'
import type { Digits } from './layout.ts'
import type { EcosystemFacts } from './tables.ts'
import type { ThreatIntelStatus } from '../intel/threat-intel.ts'

/**
 * What is loaded under one name: `osv/Debian`, `debian/tracker`, `updateinfo/almalinux9`, `nvd/2026`, `kev`,
 * `jar-index`. Times are ISO 8601.
 */
export interface SourceFacts {
  readonly kind:
    | 'osv'
    | 'debian-tracker'
    | 'alpine-secdb'
    | 'updateinfo'
    | 'kev'
    | 'epss'
    | 'nvd'
    | 'csaf'
    | 'ubuntu-vex'
    | 'jar-index'
  /**
   * The date of the data: the newest change in them; where they have no dates, the one that came with them. Never the
   * day of the import. Empty where nothing says it.
   */
  readonly as_of: string
  /** True when the files held all of the source: its newest change dates every ecosystem in it. */
  readonly dated: boolean
  readonly imported_at: string
  readonly records: number
  readonly rows: number
  readonly skipped: SkipCounts
  /** Digests of the files it came from. */
  readonly files: readonly string[]
}

/** `meta.json` of a generation. */
export interface Meta {
  readonly format: 1
  readonly generation: number
  readonly created: string
  readonly ecosystems: Readonly<Record<Ecosystem, EcosystemFacts>>
  readonly sources: Readonly<Record<string, SourceFacts>>
  readonly vector_digits: Digits
  readonly intel: ThreatIntelStatus
  readonly bundle?: { readonly created: string; readonly signature: 'verified' | 'not_checked' }
}

/** The facts of a generation's folder, or undefined when it has none. */
export async function readMeta(folder: string): Promise<Meta | undefined> {
  const text = await readFile(join(folder, 'meta.json'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : (JSON.parse(text) as Meta)
}
