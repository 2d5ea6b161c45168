import { readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Distribution, Repositories } from '../core/repository.ts'
import { printRef, relPath, sha256, type FormatId, type PackageRef } from '../core/identity.ts'
import type { Manifest } from '../core/manifest.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Manifests } from '../files/manifests.ts'
import type { Format } from '../formats/format.ts'
import type { Keyring } from '../signing/signer.ts'
import { digestOf } from './live-tree.ts'
import { liveGeneration, readStates, walkFiles } from './prune.ts'
import { readState, type GenerationState } from './state.ts'
import { createShardCache } from './shard-cache.ts'
import { readFrozen } from './store.ts'

/** One place where pool, database, manifests and trees do not say the same. */
export interface Difference {
  readonly what: string
  readonly where: string
  readonly why: string
}

export interface Verified {
  readonly checked: { packages: number; blobs: number; manifests: number; trees: number; files: number }
  readonly differences: readonly Difference[]
  /** What a crash leaves and nobody can reach: not wrong, and removed by itself. */
  readonly notes: readonly Difference[]
}

export interface VerifierDeps {
  readonly db: Db
  readonly layout: Layout
  readonly manifests: Manifests
  readonly keyring: Pick<Keyring, 'signer' | 'keys'>
  readonly formats: (id: FormatId) => Format
  readonly repositories: Pick<Repositories, 'all'>
}

type Row = PackageRef & {
  readonly sha256: string
  readonly size: number
  readonly state: Manifest['state']
  readonly changed_at: Date
  readonly source: string
}
interface Run extends VerifierDeps {
  readonly verified: {
    readonly checked: Verified['checked']
    readonly differences: Difference[]
    readonly notes: Difference[]
  }
}

/** Each blob that a row needs lies where its states say, with its digest; no other blob lies there. */
async function checkBlobs({ layout, verified }: Run, rows: readonly Row[]): Promise<void> {
  const { checked, differences } = verified
  const byBlob = Map.groupBy(rows, row => row.sha256)
  for (const [digest, owners] of byBlob) {
    const served = owners.some(row => row.state === 'published' || row.state === 'pending_review')
    const path = served ? layout.blob(sha256(digest)) : layout.quarantined(sha256(digest))
    const found = await digestOf(path)
    checked.blobs++
    if (found === digest) continue
    const owner = owners[0] === undefined ? '' : printRef(owners[0])
    differences.push({
      what: served ? 'pool' : 'quarantine',
      where: relative(layout.root, path),
      why: found === undefined ? `the bytes of ${owner} are missing` : `the bytes of ${owner} have SHA-256 ${found}`,
    })
  }
  for (const folder of [layout.pool, layout.quarantine]) {
    for await (const path of walkFiles(folder)) {
      const digest = path.slice(-64)
      const owners = byBlob.get(digest)
      if (owners === undefined)
        verified.notes.push({
          what: 'stray file',
          where: relative(layout.root, path),
          why: 'no package has these bytes; the nightly sweep removes them',
        })
    }
  }
}

async function checkManifests({ manifests, verified }: Run, rows: readonly Row[]): Promise<void> {
  const { checked, differences } = verified
  const waiting = new Map(rows.map(row => [printRef(row), row]))
  for await (const found of manifests.walk()) {
    checked.manifests++
    if ('broken' in found) {
      differences.push({
        what: 'manifest',
        where: `manifests/${found.path}`,
        why: `it cannot be read: ${found.broken}`,
      })
      continue
    }
    const { ref, state, changed_at } = found.manifest
    const { blob } = found.manifest.files[0]
    const row = waiting.get(printRef(ref))
    waiting.delete(printRef(ref))
    const why =
      row === undefined
        ? 'the database does not know it; sync-index brings it back'
        : row.sha256 !== blob.sha256
          ? `it has SHA-256 ${blob.sha256}, the database ${row.sha256}`
          : row.state !== state
            ? `it says ${state}, the database ${row.state}`
            : row.changed_at.toISOString() !== changed_at
              ? `it was changed at ${changed_at}, the database says ${row.changed_at.toISOString()}`
              : undefined
    if (why !== undefined) differences.push({ what: 'manifest', where: printRef(ref), why })
  }
  for (const ref of waiting.keys())
    differences.push({ what: 'manifest', where: ref, why: 'the database knows it, and there is no manifest' })
}

/** The live tree says of itself what is there, signed, and names exactly the published packages of the database. */
async function checkTree(run: Run, distribution: Distribution, rows: readonly Row[]): Promise<void> {
  const {
    layout,
    keyring,
    formats,
    verified: { checked, differences },
  } = run
  const { codename, format } = distribution
  const published = rows.filter(row => row.codename === codename && row.state === 'published')
  const say = (where: string, why: string): void => {
    differences.push({ what: 'tree', where: `${codename}: ${where}`, why })
  }
  const n = await liveGeneration(layout, codename)
  if (n === undefined) {
    if (published.length > 0)
      say('dists', `nothing is published, the database has ${published.length} published packages`)
    return
  }
  checked.trees++
  const root = layout.generation(codename, n)
  const state = await readState(layout, codename, n)
  const writer = formats(format).tree
  if (state === undefined || writer === undefined)
    return say(`generation ${n}`, 'its state is missing or damaged; the next publication builds it again')
  for (const file of state.files) {
    checked.files++
    const found = await digestOf(join(root, file.path))
    if (found !== file.sha256)
      say(
        file.path,
        found === undefined ? 'the root names it, and it is not there' : 'its bytes are not those the root names',
      )
  }
  const signed = await writer
    .verifyRoot(path => readFile(join(root, path)), await keyring.signer(), distribution)
    .catch(() => false)
  if (!signed) say('Release', 'its signatures do not verify with the keys of the keyring')
  await checkEntries(run, distribution, { published, state })
}

interface Said {
  readonly published: readonly Row[]
  readonly state: GenerationState
}

/** The index names what is published, one to one, and clients fetch the very bytes of the pool. */
async function checkEntries(
  { db, layout, formats, verified: { differences } }: Run,
  distribution: Distribution,
  { published, state }: Said,
): Promise<void> {
  const { codename, format, neutral } = distribution
  const cache = createShardCache(layout)
  const say = (where: string, why: string): void => {
    differences.push({ what: 'index', where: `${codename}: ${where}`, why })
  }
  const expected = new Map(published.map(row => [formats(format).poolName(row, row.source) as string, row]))
  const named = new Map<string, string>()
  const isFrozen = (await readFrozen(db, codename)) !== undefined
  for (const [arch, plans] of Map.groupBy(formats(format).tree?.indexes(distribution) ?? [], plan => plan.arch)) {
    const shards = state.pieces[plans[0]?.id ?? ''] ?? []
    const files = (await Promise.all(shards.map(shard => cache.find(shard.digest)))).flatMap(card => card?.files ?? [])
    const here = new Map(files.map(file => [file.path, file.sha256]))
    for (const [path, digest] of here) {
      named.set(path, digest)
      // what was deleted after it comes back with an earlier generation
      if (!isFrozen && !expected.has(path)) say(path, `the index of ${arch} names it, and it is not published`)
    }
    if (!isFrozen)
      for (const [path, row] of expected)
        if ((row.arch === arch || neutral.includes(row.arch)) && !here.has(path))
          say(path, `it is published, and the index of ${arch} does not name it`)
  }
  // while rolled back, what came since is not served yet, and what was deleted since is
  for (const [path, digest] of isFrozen ? named : new Map([...expected].map(([path, row]) => [path, row.sha256]))) {
    const [there, blob] = await Promise.all(
      [layout.published(codename, relPath(path)), layout.blob(sha256(digest))].map(one =>
        stat(one).catch(() => undefined),
      ),
    )
    if (there === undefined) say(path, 'the index names it, and clients cannot fetch it')
    else if (there.ino !== blob?.ino && !(isFrozen && blob === undefined))
      say(path, 'clients fetch other bytes than those in the pool')
  }
  const graves = new Set(state.graves.map(grave => grave.path))
  for (const { pieces } of await readStates(layout, codename)) {
    for (const shard of Object.values(pieces).flat())
      for (const file of (await cache.find(shard.digest))?.files ?? []) graves.add(file.path)
  }
  const top = layout.publishedFolder(codename)
  for await (const path of walkFiles(top)) {
    const name = relative(top, path)
    if (!named.has(name) && !graves.has(name)) say(name, 'clients can fetch it, and no index names it')
  }
}

/** Proves pool, database, manifests and trees against each other and names every difference. Reads only. */
export function createVerifier(deps: VerifierDeps): () => Promise<Verified> {
  return async () => {
    const verified = {
      checked: { packages: 0, blobs: 0, manifests: 0, trees: 0, files: 0 },
      differences: [] as Difference[],
      notes: [] as Difference[],
    }
    const run: Run = { ...deps, verified }
    const rows = await deps.db.query<Row>(`
      select format, codename, name, version, arch, sha256, size, state, changed_at, manifest->'about'->>'source' as source from package order by id`)
    verified.checked.packages = rows.length
    await checkBlobs(run, rows)
    await checkManifests(run, rows)
    const publishable = deps.repositories.all().filter(distribution => {
      try {
        return deps.formats(distribution.format).tree !== undefined
      } catch {
        return false // this build does not have the format
      }
    })
    for (const distribution of publishable) await checkTree(run, distribution, rows)
    return verified
  }
}
