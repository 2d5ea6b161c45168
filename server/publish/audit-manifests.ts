import { listAwaitedBlobs } from '../catalog/queries/store.ts'
import { listAllTags } from '../catalog/queries/tags.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { VerifiedRow } from '../catalog/queries/verify.ts'
import { relative } from 'node:path'
import { printRef, sha256, type PackageName } from '../core/identity.ts'
import { isKept, type Manifest } from '../core/manifest.ts'
import type { Tag, TagList } from '../core/tag.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Manifests } from '../files/manifests.ts'
import { digestFiles } from '../lib/digest-files.ts'
import { listFiles } from '../lib/list-files.ts'

/** One difference between pool, database, manifests and trees. */
export interface Difference {
  readonly what: string
  readonly where: string
  readonly why: string
}

/** The state of a running verification. */
export interface Verifying {
  readonly checked: {
    packages: number
    blobs: number
    manifests: number
    documents: number
    trees: number
    files: number
  }
  readonly differences: Difference[]
  readonly notes: Difference[]
}

interface Run {
  readonly db: Db
  readonly layout: Layout
  readonly manifests: Manifests
  readonly verified: Verifying
}

/** Each blob that a row needs lies where its states say, with its digest; no other blob lies there. */
export async function checkBlobs({ db, layout, verified }: Run, rows: readonly VerifiedRow[]): Promise<void> {
  const { checked, differences } = verified
  const byBlob = new Map<string, VerifiedRow[]>()
  for (const row of rows) for (const blob of row.blobs) byBlob.set(blob, [...(byBlob.get(blob) ?? []), row])
  const placed = [...byBlob].map(([digest, owners]) => {
    const kept = owners.some(row => isKept(row.state))
    return { digest, owners, kept, path: kept ? layout.blob(sha256(digest)) : layout.quarantined(sha256(digest)) }
  })
  const digests = await digestFiles(placed.map(({ path }) => path))
  for (const { digest, owners, kept, path } of placed) {
    const found = digests.get(path)
    checked.blobs++
    if (found === digest) continue
    const owner = owners[0] === undefined ? '' : printRef(owners[0])
    differences.push({
      what: kept ? 'pool' : 'quarantine',
      where: relative(layout.root, path),
      why: found === undefined ? `the bytes of ${owner} are missing` : `the bytes of ${owner} have SHA-256 ${found}`,
    })
  }
  // a registry was given them for a version that is to come
  const awaited = await listAwaitedBlobs(db)
  for (const folder of [layout.pool, layout.quarantine]) {
    for (const path of await listFiles(folder)) {
      if (byBlob.has(path.slice(-64)) || awaited.has(path.slice(-64))) continue
      verified.notes.push({
        what: 'stray file',
        where: relative(layout.root, path),
        why: 'no package has these bytes; the nightly sweep removes them',
      })
    }
  }
}

function differenceOf(row: VerifiedRow | undefined, manifest: Manifest): string | undefined {
  if (row === undefined) return 'the database does not know it; sync-index brings it back'
  const [ours, theirs] = [manifest.files.map(({ blob }) => blob.sha256).join(', '), row.blobs.join(', ')]
  if (ours !== theirs) return `it has SHA-256 ${ours}, the database ${theirs}`
  if (row.state !== manifest.state) return `it says ${manifest.state}, the database ${row.state}`
  const component = manifest.component ?? null
  if (row.component !== component)
    return `it is in the component ${component ?? '(first)'}, the database says ${row.component ?? '(first)'}`
  const changedAt = row.changed_at.toISOString()
  return changedAt === manifest.changed_at
    ? undefined
    : `it was changed at ${manifest.changed_at}, the database says ${changedAt}`
}

/** Every version has its manifest, every manifest its version, and both say the same; so do tags. */
export async function checkManifests(run: Run, rows: readonly VerifiedRow[]): Promise<void> {
  const { manifests, verified } = run
  const { checked, differences } = verified
  const waiting = new Map(rows.map(row => [printRef(row), row]))
  const lists: TagList[] = []
  for await (const found of manifests.walk()) {
    if ('list' in found) {
      lists.push(found.list)
      continue
    }
    checked.manifests++
    if ('broken' in found) {
      differences.push({
        what: 'manifest',
        where: `manifests/${found.path}`,
        why: `it cannot be read: ${found.broken}`,
      })
      continue
    }
    const { ref } = found.manifest
    const why = differenceOf(waiting.get(printRef(ref)), found.manifest)
    waiting.delete(printRef(ref))
    if (why !== undefined) differences.push({ what: 'manifest', where: printRef(ref), why })
  }
  for (const ref of waiting.keys())
    differences.push({ what: 'manifest', where: ref, why: 'the database knows it, and there is no manifest' })
  await checkTags(run, lists)
}

const printTag = ({ format, codename, name }: PackageName, { tag, version }: Pick<Tag, 'tag' | 'version'>): string =>
  `${format}:${name} in ${codename}, ${tag} → ${version}`

async function checkTags({ db, verified: { differences } }: Run, lists: readonly TagList[]): Promise<void> {
  const rows = await listAllTags(db, ALL_SEEING)
  const known = new Set(rows.map(row => printTag(row, row)))
  const filed = new Set(lists.flatMap(({ of, tags }) => tags.map(tag => printTag(of, tag))))
  for (const where of [...filed].filter(tag => !known.has(tag)))
    differences.push({ what: 'tag', where, why: 'tags.json has it, and the database does not' })
  for (const where of [...known].filter(tag => !filed.has(tag)))
    differences.push({ what: 'tag', where, why: 'the database has it, and no tags.json does' })
}
