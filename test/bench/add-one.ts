import { link, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { insertManifests } from '../../server/catalog/queries/insert.ts'
import { markDirty } from '../../server/catalog/queries/store.ts'
import type { Manifest } from '../../server/core/manifest.ts'
import type { Distribution } from '../../server/core/repository.ts'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import type { Layout } from '../../server/files/layout.ts'
import { getFormat } from '../../server/formats/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createPublisher, type Publisher } from '../../server/publish/publisher.ts'
import { createKeyring } from '../../server/signing/keyring.ts'
import { spoolBytes } from '../support/packages.ts'
import { addMany, isWithin, readArgs, showAdded, type Added } from './add-many.ts'
import { show, timed, timedTool, type Figure } from './tools.ts'
import { layoutOf, repositories } from '../support/repositories.ts'

const BATCH = 500

/** What differs from format to format. */
export interface Subject {
  readonly distribution: Distribution
  build(n: number): Promise<Buffer>
  /** What the file is called where the vendor's tool reads it. */
  fileName(identity: { readonly name: string; readonly version: string }): string
  /**
   * Absent where it is not installed. `before` runs once over what is there, so that `again` has something to be faster
   * by.
   */
  readonly tool?: { readonly name: string; readonly before: string; readonly again: string }
}

/** Of one size. */
export interface Figures {
  readonly first: Figure
  readonly cold: Figure
  readonly added: Added
  readonly back: Figure
  readonly theirs: Figure | undefined
}

/** A name that sorts anywhere. */
export const nameOf = (n: number): string => `bench-${((n * 2_654_435_761) >>> 0).toString(36)}-${n}`

interface Stock {
  readonly db: Db
  readonly layout: Layout
  readonly folder: string
  readonly packages: string
}

/** Puts packages where an upload would have put them: rows and pool; and as files, for the tool that reads those. */
async function stock(
  { distribution: { codename, format: id }, build, fileName }: Subject,
  { db, layout, folder, packages }: Stock,
  from: number,
  to: number,
): Promise<void> {
  const format = getFormat(id)
  for (let start = from; start < to; start += BATCH) {
    await db.tx(async tx => {
      const manifests: Manifest[] = []
      for (let n = start; n < Math.min(to, start + BATCH); n++) {
        const file = await spoolBytes(folder, 'in', await build(n))
        const { identity, about, facts, paths } = await format.inspect(file, new AbortController().signal)
        const filename = fileName(identity)
        await mkdir(dirname(layout.blob(file.blob.sha256)), { recursive: true })
        await link(file.path, layout.blob(file.blob.sha256))
        await link(file.path, join(packages, filename))
        await file.discard()
        const at = new Date().toISOString()
        manifests.push({
          schema: 2,
          ref: { ...identity, codename },
          files: [{ path: filename, blob: file.blob }],
          about,
          state: 'published',
          reports: [],
          findings: [],
          facts,
          paths,
          by: 'bench',
          from: 'upload',
          at,
          changed_at: at,
        })
      }
      const written = await insertManifests(tx, manifests)
      await markDirty(
        tx,
        written.map(({ id, manifest: { ref } }) => ({ id, ref, component: '' })),
      )
    })
  }
}

async function measure(
  subject: Subject,
  root: string,
  { size, earlier }: { readonly size: number; readonly earlier: number },
): Promise<Figures> {
  const {
    distribution: { codename },
    tool,
  } = subject
  const layout = layoutOf(join(root, 'repos'))
  const packages = join(root, 'packages')
  await mkdir(packages)
  const embedded = await startEmbedded({ folder: join(root, 'pg'), durable: false })
  const db = createDb(embedded)
  await migrate(db)
  const keyring = createKeyring({ layout, box: createSecretBox('bench'), clock: systemClock })
  await keyring.generate({ type: 'rsa4096', name: 'Bench', email: 'bench@example.test', overlapDays: 0 })
  await (await keyring.signer()).rsaKeys()
  const open = (): Publisher =>
    createPublisher({ db, layout, keyring, clock: systemClock, formats: getFormat, repositories })
  const at = { db, layout, folder: root, packages }
  await stock(subject, at, 0, size)
  await db.query('analyze')
  if (tool !== undefined) timedTool(tool.before, root)
  let publisher = open()
  const first = await timed(() => publisher.publish(codename))
  await publisher.close()
  publisher = open() // as after a restart: nothing remembered
  await stock(subject, at, size, size + 1)
  const cold = await timed(() => publisher.publish(codename))
  const theirs = tool === undefined ? undefined : timedTool(tool.again, root)
  const added = await addMany(
    {
      put: n => stock(subject, at, size + 1 + n, size + 2 + n),
      publish: () => publisher.publish(codename),
      trees: layout.trees,
    },
    earlier,
  )
  const [oldest] = (await publisher.generations(codename)).generations
  const back = await timed(() => publisher.rollback(codename, oldest?.n ?? 0, () => Promise.resolve()))
  await publisher.close()
  await db.close()
  await embedded.stop()
  return { first, cold, theirs, back, added }
}

/**
 * One package more in a distribution of so many, and the way back, beside the vendor's tool.
 * @returns whether every size keeps its budgets
 */
export async function addOne(subject: Subject, args: readonly string[]): Promise<boolean> {
  let within = true
  const { sizes, earlier } = readArgs(args)
  for (const size of sizes) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      const { first, cold, added, back, theirs } = await measure(subject, root, { size, earlier })
      const { add } = added
      console.log(
        `${size} packages (${subject.distribution.archs[0] ?? ''}): first publication ${show(first)}; one more after a restart ${show(cold)}; ${showAdded(added)}; rolled back ${show(back)}`,
      )
      if (theirs !== undefined)
        console.log(
          `${size} packages, ${subject.tool?.name ?? ''}: one more ${show(theirs)}; ${(theirs.cpu / add.cpu).toFixed(1)} times our CPU, ${(theirs.wall / add.wall).toFixed(1)} times our wall`,
        )
      within = back.wall < 1 && isWithin(size, added, theirs === undefined ? [] : [theirs]) && within
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
