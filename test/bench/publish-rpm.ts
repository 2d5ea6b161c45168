import { link, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { insertManifest, markDirty } from '../../server/catalog/store.ts'
import { getDistribution } from '../../server/core/distributions.ts'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import { createLayout, type Layout } from '../../server/files/layout.ts'
import { getFormat } from '../../server/formats/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createPublisher, type Publisher } from '../../server/publish/publisher.ts'
import { createKeyring } from '../../server/signing/keyring.ts'
import { buildRpm } from '../support/packages-rpm.ts'
import { spoolBytes } from '../support/packages.ts'
import { isInstalled, median, show, timed, timedTool, type Figure } from './tools.ts'

const { codename, format: formatId, archs: [arch = ''] } = getDistribution('almalinux9')
const ADDED = 5
const BATCH = 500

const nameOf = (n: number): string => `bench-${((n * 2_654_435_761) >>> 0).toString(36)}-${n}`

/** A package with as many needs, files and changes as a usual one has. */
function buildOne(n: number): Promise<Buffer> {
  const name = nameOf(n)
  const files = Array.from({ length: 20 }, (_, i): readonly [string, string] => [`usr/share/${name}/data/part-${i}.txt`, ''])
  return buildRpm({
    name, version: '1.0', release: '1.el9', summary: `package number ${n} of a measurement`, description: 'It has a description of a usual length, so that the index has entries of a usual size. Nobody installs it.',
    url: `https://example.test/${name}`, vendor: 'Example', packager: 'Somebody <somebody@example.test>',
    requires: ['libc.so.6(GLIBC_2.34)(64bit)', 'libgcc_s.so.1()(64bit)', `lib${name} = 1.0-1.el9`, '/bin/sh', 'rtld(GNU_HASH)'],
    provides: [`${name}-api = 1`, `lib${name}.so.1()(64bit)`],
    files: { [`usr/bin/${name}`]: '', [`etc/${name}.conf`]: '', ...Object.fromEntries(files) },
    changelog: Array.from({ length: 10 }, (_, i) => ({ author: 'Somebody <somebody@example.test> - 1.0-1', at: 1_700_000_000 - i * 86_400, text: `- change number ${i} of ${name}` })),
  })
}

interface Stock { readonly db: Db; readonly layout: Layout; readonly folder: string; readonly packages: string }

/** Puts packages where an upload would have put them: rows and pool; and as files, for the tool that reads those. */
async function stock({ db, layout, folder, packages }: Stock, from: number, to: number): Promise<void> {
  const format = getFormat(formatId)
  for (let start = from; start < to; start += BATCH) {
    await db.tx(async tx => {
      for (let n = start; n < Math.min(to, start + BATCH); n++) {
        const file = await spoolBytes(folder, 'in.rpm', await buildOne(n))
        const { identity, about, facts, files } = await format.inspect(file, new AbortController().signal)
        await mkdir(dirname(layout.blob(file.blob.sha256)), { recursive: true })
        await link(file.path, layout.blob(file.blob.sha256))
        await link(file.path, join(packages, `${nameOf(n)}.rpm`))
        await file.discard()
        const at = new Date().toISOString()
        await insertManifest(tx, {
          schema: 1, ref: { ...identity, codename }, blob: file.blob, filename: `${nameOf(n)}.rpm`, about, state: 'published', reports: [], findings: [],
          facts, files, by: 'bench', from: 'upload', at, changed_at: at,
        })
        await markDirty(tx, codename, identity.name)
      }
    })
  }
}

interface Figures { readonly first: Figure; readonly cold: Figure; readonly add: Figure; readonly back: Figure; readonly theirs: Figure | undefined }

async function measure(root: string, size: number): Promise<Figures> {
  const layout = createLayout(join(root, 'repos'))
  const packages = join(root, 'packages')
  await mkdir(packages)
  const embedded = await startEmbedded({ folder: join(root, 'pg'), durable: false })
  const db = createDb(embedded)
  await migrate(db)
  const keyring = createKeyring({ layout, box: createSecretBox('bench'), clock: systemClock })
  await keyring.generate({ type: 'rsa4096', name: 'Bench', email: 'bench@example.test', overlapDays: 0 })
  const open = (): Publisher => createPublisher({ db, layout, keyring, clock: systemClock, formats: getFormat })
  const at = { db, layout, folder: root, packages }
  await stock(at, 0, size)
  await db.query('analyze')
  // the first run has nothing to be faster by
  const createrepo = 'createrepo_c -q --update --no-database --workers 2 packages'
  const hasTool = isInstalled('createrepo_c')
  if (hasTool) timedTool(createrepo, root)
  let publisher = open()
  const first = await timed(() => publisher.publish(codename))
  await publisher.close()
  publisher = open() // as after a restart: nothing remembered
  await stock(at, size, size + 1)
  const cold = await timed(() => publisher.publish(codename))
  const theirs = hasTool ? timedTool(createrepo, root) : undefined
  const adds: Figure[] = []
  for (let n = 1; n <= ADDED; n++) {
    await stock(at, size + n, size + n + 1)
    adds.push(await timed(() => publisher.publish(codename)))
  }
  const [earlier] = (await publisher.generations(codename)).generations
  const back = await timed(() => publisher.rollback(codename, earlier?.n ?? 0, () => Promise.resolve()))
  await publisher.close()
  await db.close()
  await embedded.stop()
  return { first, cold, theirs, back, add: { wall: median(adds, 'wall'), cpu: median(adds, 'cpu') } }
}

/** One RPM more in a distribution of so many, beside createrepo_c: `npm run bench publish-rpm -- 1000 10000`. */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const size of args.length === 0 ? [1_000, 10_000] : args.map(Number)) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      const { first, cold, add, back, theirs } = await measure(root, size)
      console.log(`${size} packages (${arch}): first publication ${show(first)}; one more after a restart ${show(cold)}; one more ${show(add)} (median of ${ADDED}); rolled back ${show(back)}`)
      within &&= add.wall <= 0.25 && back.wall < 1
      if (theirs === undefined) continue
      const ratio = theirs.cpu / add.cpu
      console.log(`${size} packages, createrepo_c --update: one more ${show(theirs)}; ${ratio.toFixed(1)} times our CPU, ${(theirs.wall / add.wall).toFixed(1)} times our wall`)
      if (size >= 10_000) within &&= ratio >= 8
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
