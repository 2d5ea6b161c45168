import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { findLatest, listSpeaking, listTold, readSpeaking, type NameFilter } from '../../catalog/queries/names.ts'
import type { SpeakingRow } from '../../catalog/queries/search.ts'
import { snapshotOf, type Snapshot } from '../../catalog/snapshot.ts'
import { factsOfRow, type VersionFacts } from '../../catalog/version-facts.ts'
import type { FileReply } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { named } from '../../core/identity.ts'
import { isKept, isServed } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Pool } from '../../files/pool.ts'
import { refuseMissing } from './artifacts.ts'

/** The packages of a name, newest version first. */
export interface VersionList {
  readonly package: string
  readonly count: number
  readonly versions: readonly (VersionFacts & {
    readonly version: string
    readonly is_latest: boolean
    /** Whether its file lies in the pool; those of refused packages do not. */
    readonly pool_available: boolean
  })[]
}

const MOST_VERSIONS = 1_000

/** @throws package_not_found */
export async function listVersions(db: Queryable, viewer: Viewer, filter: NameFilter): Promise<VersionList> {
  const [rows, told] = await Promise.all([
    listSpeaking(db, viewer, { ...filter, most: MOST_VERSIONS }),
    listTold(db, viewer, filter),
  ])
  if (rows.length === 0) return refuseMissing(db, viewer, filter)
  const latest = new Map(told.map(one => [one.format, one.latest]))
  const versions = rows.map(row => ({
    version: row.version,
    ...factsOfRow(row),
    is_latest: latest.get(row.format) === row.version,
    pool_available: isKept(row.state),
  }))
  return { package: filter.name, count: versions.length, versions }
}

/** The manifest of one version. @throws package_not_found, version_not_found */
export async function readSnapshot(db: Queryable, viewer: Viewer, filter: NameFilter): Promise<Snapshot> {
  return snapshotOf((await findLatest(db, viewer, filter)) ?? (await refuseMissing(db, viewer, filter)))
}

/** The file of a version that clients may have. @throws package_not_found, version_not_found, not_served */
export async function sendVersion(
  { db, pool }: { readonly db: Queryable; readonly pool: Pick<Pool, 'locate'> },
  viewer: Viewer,
  filter: NameFilter,
): Promise<FileReply> {
  const { ref, state, files } = (await findLatest(db, viewer, filter)) ?? (await refuseMissing(db, viewer, filter))
  if (!isServed(state)) fail('not_served', { ...named(ref), state, instead: 'Its file is not handed out.' })
  const [{ path, blob }] = files
  return {
    body: createReadStream(await pool.locate(blob.sha256)),
    type: 'application/octet-stream',
    name: path,
    size: blob.size,
  }
}

function printName(rows: readonly SpeakingRow[]): string {
  const [newest] = rows
  const latest = rows.find(row => isServed(row.state)) ?? newest
  if (newest === undefined || latest === undefined) return ''
  const versions: Record<string, VersionFacts> = {}
  for (const row of rows) versions[row.version] ??= factsOfRow(row)
  const { description, section } = latest
  return `${JSON.stringify(newest.name)}:${JSON.stringify({ versions, latest: latest.version, description, section: section ?? '' })}`
}

/** Every name with its versions, as one JSON object that is written while it is read: some names at a time. */
export function sendIndex(db: Queryable, viewer: Viewer, updatedAt: string): FileReply {
  async function* text(): AsyncGenerator<string> {
    yield `{"version":1,"updated_at":${JSON.stringify(updatedAt)},"packages":{`
    let isFirst = true
    for await (const rows of readSpeaking(db, viewer)) {
      yield `${isFirst ? '' : ','}${printName(rows)}`
      isFirst = false
    }
    yield '}}'
  }
  return { body: Readable.from(text(), { objectMode: false }), type: 'application/json' }
}
