import { readFile, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { mainOf, type Distribution, type Repositories } from '../core/repository.ts'
import { relPath, sha256, type FormatId } from '../core/identity.ts'
import { listVersions, type VerifiedRow } from '../catalog/queries/verify.ts'
import { ALL_SEEING } from '../core/viewer.ts'
import type { Db } from '../db/db.ts'
import type { Layout } from '../files/layout.ts'
import type { Manifests } from '../files/manifests.ts'
import { listFiles } from '../lib/list-files.ts'
import type { Format } from '../formats/format.ts'
import type { Keyring } from '../signing/signer.ts'
import { checkDocumentFiles, checkServedDocuments } from './audit-documents.ts'
import { checkBlobs, checkManifests, type Difference, type Verifying } from './audit-manifests.ts'
import { listedDigest, listTorn } from './live-tree.ts'
import { treeParts } from './tree-parts.ts'
import { liveGeneration, readStates } from './prune.ts'
import { readState, type GenerationState } from './state.ts'
import { readCard } from './shard-cache.ts'
import { everyFile, readFrozen } from './store.ts'

/** What a verification found. */
export interface Verified {
  readonly checked: Verifying['checked']
  readonly differences: readonly Difference[]
  /** Leftovers of a crash, out of clients' reach: no fault, and removed later. */
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

interface Run extends VerifierDeps {
  readonly verified: Verifying
}

/** Checks that the live tree is signed, complete, and names exactly the published packages of the database. */
async function checkTree(run: Run, distribution: Distribution, rows: readonly VerifiedRow[]): Promise<void> {
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
    const found = await listedDigest(layout, root, file)
    if (found !== file.sha256)
      say(
        file.path,
        found === undefined ? 'the root names it, and it is not there' : 'its bytes are not those the root names',
      )
  }
  for (const path of await listTorn(layout, codename))
    say(relative(join(layout.trees, codename), path), 'its bytes are not those of the digest in its name')
  const signed = await writer
    .verifyRoot(path => readFile(join(root, path)), await keyring.signer(), distribution)
    .catch(() => false)
  if (!signed) say('Release', 'its signatures do not verify with the keys of the keyring')
  await checkEntries(run, distribution, { published, state })
}

/** The inodes of files, in their order; undefined for those that are not there. */
async function inodesOf(paths: readonly string[]): Promise<readonly (number | undefined)[]> {
  const found: (number | undefined)[] = []
  for (let from = 0; from < paths.length; from += 128) {
    const some = paths.slice(from, from + 128).map(path =>
      stat(path).then(
        ({ ino }) => ino,
        () => undefined,
      ),
    )
    found.push(...(await Promise.all(some)))
  }
  return found
}

interface Compared {
  readonly published: readonly VerifiedRow[]
  readonly state: GenerationState
}

/** The index names what is published, one to one, and clients fetch the very bytes of the pool. */
async function checkEntries(
  { db, layout, formats, verified: { differences } }: Run,
  distribution: Distribution,
  { published, state }: Compared,
): Promise<void> {
  const { codename, format, neutral } = distribution
  const say = (where: string, why: string): void => {
    differences.push({ what: 'index', where: `${codename}: ${where}`, why })
  }
  const componentOf = (row: VerifiedRow): string => row.component ?? mainOf(distribution)
  const expected = new Map(
    published.map(row => [formats(format).poolName(row, row.source, componentOf(row)) as string, row]),
  )
  /** Every file of what is published that clients may fetch, with its digest. */
  const all = new Map<string, string>()
  for (const [path, { blobs, others }] of expected)
    for (const [n, file] of [path, ...others.map(other => join(dirname(path), other))].entries())
      if (n === 0 || formats(format).announcements?.isRecord(file) !== true) all.set(file, blobs[n] ?? '')
  const named = new Map<string, string>()
  const isFrozen = (await readFrozen(db, codename)) !== undefined
  const writer = formats(format).tree
  for (const { component, arch, kind, plans } of writer === undefined ? [] : treeParts(writer, distribution)) {
    const shards = state.pieces[plans[0]?.id ?? ''] ?? []
    const cards = await Promise.all(shards.map(shard => readCard(layout, shard.digest)))
    const files = everyFile(cards.flatMap(card => card?.files ?? []))
    const here = new Map(files.map(file => [file.path, file.sha256]))
    for (const [path, digest] of here) {
      named.set(path, digest)
      // an earlier generation brings back packages that were deleted after it
      if (!isFrozen && !all.has(path)) say(path, `the index ${component}/${arch} names it, and it is not published`)
    }
    if (!isFrozen)
      for (const [path, row] of expected)
        if (
          componentOf(row) === component &&
          row.kind === kind &&
          (row.arch === arch || neutral.includes(row.arch)) &&
          !here.has(path)
        )
          say(path, `it is published, and the index ${component}/${arch} does not name it`)
  }
  // while rolled back, newer packages are not served yet, and packages deleted since are
  const served = [...(isFrozen ? named : all)]
  const inodes = await inodesOf(
    served.flatMap(([path, digest]) => [layout.published(codename, relPath(path)), layout.blob(sha256(digest))]),
  )
  for (const [n, [path]] of served.entries()) {
    const [there, blob] = [inodes[2 * n], inodes[2 * n + 1]]
    if (there === undefined) say(path, 'the index names it, and clients cannot fetch it')
    else if (there !== blob && !(isFrozen && blob === undefined))
      say(path, 'clients fetch other bytes than those in the pool')
  }
  const unlisted = new Set(state.graves.map(grave => grave.path))
  for (const { pieces } of await readStates(layout, codename)) {
    for (const shard of Object.values(pieces).flat())
      for (const file of everyFile((await readCard(layout, shard.digest))?.files ?? [])) unlisted.add(file.path)
  }
  const top = layout.publishedFolder(codename)
  for (const path of await listFiles(top)) {
    const name = relative(top, path)
    if (!named.has(name) && !unlisted.has(name)) say(name, 'clients can fetch it, and no index names it')
  }
}

function hasTree({ formats }: Pick<VerifierDeps, 'formats'>, format: FormatId): boolean {
  try {
    return formats(format).tree !== undefined
  } catch {
    return false // this build does not have the format
  }
}

/** Compares pool, database, manifests and trees, and names every difference. Reads only. */
export function createVerifier(deps: VerifierDeps): () => Promise<Verified> {
  return async () => {
    const verified = {
      checked: { packages: 0, blobs: 0, manifests: 0, documents: 0, trees: 0, files: 0 },
      differences: [] as Difference[],
      notes: [] as Difference[],
    }
    const run: Run = { ...deps, verified }
    const rows = await listVersions(deps.db, ALL_SEEING)
    verified.checked.packages = rows.length
    await checkBlobs(run, rows)
    await checkManifests(run, rows)
    const documents = await checkDocumentFiles(run)
    const publishable = deps.repositories.all().filter(({ format }) => hasTree(deps, format))
    const codenames = new Set<string>(publishable.map(({ codename }) => codename))
    for (const [codename, lost] of Map.groupBy(rows, row => row.codename as string))
      if (!codenames.has(codename) && lost.some(({ format }) => hasTree(deps, format)))
        verified.differences.push({
          what: 'tree',
          where: codename,
          why: `no distribution has this codename: its ${lost.length} packages are not served. Add one of this name`,
        })
    for (const distribution of publishable) {
      await checkTree(run, distribution, rows)
      await checkServedDocuments(run, distribution, documents)
    }
    return verified
  }
}
