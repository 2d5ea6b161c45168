import { listListedOtherwise, type ListedOtherwise } from '../../catalog/queries/listed-otherwise.ts'
import { relPath, type Codename, type RelPath } from '../../core/identity.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Planned } from './planned.ts'

/** A published package that a source lists under the same version with other bytes. */
export interface Changed {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly sourceId: number
  readonly sourceKey: string
  readonly component?: string
  readonly path: RelPath
  readonly size: number
  readonly digests: Planned['digests']
  readonly controlSha1?: string
  /** What it is, why it stays, and the way out. */
  readonly said: string
}

export interface ChangedOf {
  readonly codename: Codename | string
  readonly format: Pick<Format, 'id' | 'upstream'>
  /** Ids of the sources that are asked. Where one of them lists the bytes that are here, nothing has changed. */
  readonly sources: readonly number[]
  /** These names alone; absent: all that is published. */
  readonly names?: readonly string[]
}

const short = (digest: string | undefined): string => (digest === undefined ? 'another digest' : digest.slice(0, 16))

/** What is said of a package that is here with other bytes than it came with now. */
export const sayChanged = (from: string, digests: { readonly here?: string; readonly there?: string } = {}): string =>
  `It is here with other bytes than ${from} has under the same version${
    digests.here === undefined ? '' : ` (SHA-256 ${short(digests.here)}… here, ${short(digests.there)}… there)`
  }. A version is never replaced, so what is here stays. Ask the vendor why; to take the other one, delete this one and import it again.`

/** Whether a row of the catalogue names the bytes that are here, as they came or as clients get them. */
function isSame(
  { sha256, sha512, control, blob, received, facts }: ListedOtherwise,
  { upstream }: ChangedOf['format'],
): boolean {
  const here = [blob, ...(received === null ? [] : [received])]
  if (sha256 !== null) return here.some(one => one.sha256 === sha256)
  if (sha512 !== null) return here.some(one => one.sha512 === sha512)
  const own = upstream?.controlSha1Of?.(facts)
  // what cannot be compared has not been seen to differ
  return control === null || own === undefined || control === own
}

const keyOf = ({ name, version, arch }: Pick<ListedOtherwise, 'name' | 'version' | 'arch'>): string =>
  [name, version, arch].join(' ')

/**
 * Finds what is published in a distribution with other bytes than sources list for the same version, by name. The same
 * file with this repository's own signature in it has not changed.
 */
export async function listChanged(db: Queryable, of: ChangedOf): Promise<readonly Changed[]> {
  const { codename, format, sources, names } = of
  const rows = await listListedOtherwise(db, ALL_SEEING, { codename, format: format.id, sources, names })
  const byPackage = Map.groupBy(rows, keyOf)
  return [...byPackage.values()].flatMap(listed => {
    const [first] = listed
    return first === undefined || listed.some(row => isSame(row, format)) ? [] : [changedOf(first)]
  })
}

function changedOf(row: ListedOtherwise): Changed {
  const { name, version, arch, sha256, sha512, control, blob, received } = row
  return {
    ...{ name, version, arch, size: row.size },
    sourceId: row.source_id,
    sourceKey: row.source_key,
    ...(row.component === null ? {} : { component: row.component }),
    path: relPath(row.path),
    digests: { ...(sha256 === null ? {} : { sha256 }), ...(sha512 === null ? {} : { sha512 }) },
    ...(control === null ? {} : { controlSha1: control }),
    said: sayChanged(row.source_key, sha256 === null ? {} : { here: (received ?? blob).sha256, there: sha256 }),
  }
}
