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
import { buildApk } from '../support/packages-apk.ts'
import { spoolBytes } from '../support/packages.ts'
import { isInstalled, median, show, timed, timedTool, type Figure } from './tools.ts'

const { codename, format: formatId, archs: [arch = ''] } = getDistribution('alpine3.20')
const ADDED = 5
const BATCH = 500

const nameOf = (n: number): string => `bench-${((n * 2_654_435_761) >>> 0).toString(36)}-${n}`

/** A package whose index entry is as long as a usual one. */
function buildOne(n: number): Promise<Buffer> {
  const name = nameOf(n)
  return buildApk({
    name, version: '1.0.0-r0', files: { [`usr/bin/${name}`]: name },
    fields: {
      pkgdesc: `package number ${n} of a measurement, which nobody installs`, url: `https://example.test/${name}`, maintainer: 'Somebody <somebody@example.test>', license: 'MIT',
      commit: '0123456789abcdef0123456789abcdef01234567', depend: ['so:libc.musl-x86_64.so.1', 'so:libgcc_s.so.1', `so:lib${name}.so.1`], provides: [`cmd:${name}=1.0.0-r0`, `so:lib${name}.so.1=1.0.0`],
    },
  })
}

interface Stock { readonly db: Db; readonly layout: Layout; readonly folder: string; readonly packages: string }

/** Puts packages where an upload would have put them: rows and pool; and as files, for the tool that reads those. */
async function stock({ db, layout, folder, packages }: Stock, from: number, to: number): Promise<void> {
  const format = getFormat(formatId)
  for (let start = from; start < to; start += BATCH) {
    await db.tx(async tx => {
      for (let n = start; n < Math.min(to, start + BATCH); n++) {
        const file = await spoolBytes(folder, 'in.apk', await buildOne(n))
        const { identity, about, facts, files } = await format.inspect(file, new AbortController().signal)
        await mkdir(dirname(layout.blob(file.blob.sha256)), { recursive: true })
        await link(file.path, layout.blob(file.blob.sha256))
        await link(file.path, join(packages, `${identity.name}-${identity.version}.apk`))
        await file.discard()
        const at = new Date().toISOString()
        await insertManifest(tx, {
          schema: 1, ref: { ...identity, codename }, blob: file.blob, filename: `${nameOf(n)}.apk`, about, state: 'published', reports: [], findings: [],
          facts, files, by: 'bench', from: 'upload', at, changed_at: at,
        })
        await markDirty(tx, codename, identity.name)
      }
    })
  }
}

interface Figures { readonly first: Figure; readonly cold: Figure; readonly add: Figure; readonly theirs: Figure | undefined }

async function measure(root: string, size: number): Promise<Figures> {
  const layout = createLayout(join(root, 'repos'))
  const packages = join(root, 'packages')
  await mkdir(packages)
  const embedded = await startEmbedded({ folder: join(root, 'pg'), durable: false })
  const db = createDb(embedded)
  await migrate(db)
  const keyring = createKeyring({ layout, box: createSecretBox('bench'), clock: systemClock })
  await keyring.generate({ type: 'rsa4096', name: 'Bench', email: 'bench@example.test', overlapDays: 0 })
  await (await keyring.signer()).rsaKeys()
  const open = (): Publisher => createPublisher({ db, layout, keyring, clock: systemClock, formats: getFormat })
  const at = { db, layout, folder: root, packages }
  await stock(at, 0, size)
  await db.query('analyze')
  const hasTool = isInstalled('apk')
  const index = 'apk index --allow-untrusted --no-warnings --rewrite-arch x86_64'
  if (hasTool) timedTool(`find packages -name '*.apk' | xargs ${index} -o old.tar.gz`, root)
  let publisher = open()
  const first = await timed(() => publisher.publish(codename))
  await publisher.close()
  publisher = open() // as after a restart: nothing remembered
  await stock(at, size, size + 1)
  const cold = await timed(() => publisher.publish(codename))
  const theirs = hasTool ? timedTool(`find packages -name '*.apk' | xargs ${index} -x old.tar.gz -o new.tar.gz`, root) : undefined
  const adds: Figure[] = []
  for (let n = 1; n <= ADDED; n++) {
    await stock(at, size + n, size + n + 1)
    adds.push(await timed(() => publisher.publish(codename)))
  }
  await publisher.close()
  await db.close()
  await embedded.stop()
  return { first, cold, theirs, add: { wall: median(adds, 'wall'), cpu: median(adds, 'cpu') } }
}

/** One APK more in a distribution of so many, beside `apk index` where it is: `npm run bench publish-apk -- 1000 10000`. */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const size of args.length === 0 ? [1_000, 10_000] : args.map(Number)) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      const { first, cold, add, theirs } = await measure(root, size)
      console.log(`${size} packages (${arch}): first publication ${show(first)}; one more after a restart ${show(cold)}; one more ${show(add)} (median of ${ADDED})`)
      within &&= add.wall <= 0.25
      if (theirs !== undefined) console.log(`${size} packages, apk index: one more ${show(theirs)}; ${(theirs.cpu / add.cpu).toFixed(1)} times our CPU, ${(theirs.wall / add.wall).toFixed(1)} times our wall`)
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
