import { createHash } from 'node:crypto'
import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { insertManifests } from '../../server/catalog/queries/insert.ts'
import { markDirty } from '../../server/catalog/queries/store.ts'
import { sha256, type Blob, type Codename } from '../../server/core/identity.ts'
import type { Manifest } from '../../server/core/manifest.ts'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import type { Layout } from '../../server/files/layout.ts'
import { getFormat } from '../../server/formats/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createSecretBox } from '../../server/lib/secret-box.ts'
import { createPublisher, type Publisher } from '../../server/publish/publisher.ts'
import { createKeyring } from '../../server/signing/keyring.ts'
import { buildDeb, controlText, type DebSpec } from '../support/packages.ts'
import { addMany, isWithin, readArgs, showAdded, type Added } from './add-many.ts'
import { nameOf } from './add-one.ts'
import { isInstalled, show, timed, timedTool, type Figure } from './tools.ts'
import { layoutOf, repositories } from '../support/repositories.ts'

const JAMMY = 'jammy' as Codename

// what the vendors' tools can be asked to hold without the run lasting for hours
const TOOLS_UP_TO = 10_000

/** The same for us and for the tools: as much metadata as packages usually have. */
export const specOf = (n: number): DebSpec & { readonly name: string } => ({
  name: nameOf(n),
  version: '1.0-1',
  arch: 'amd64',
  compression: 'none',
  controlCompression: 'gz',
  fields: {
    'Maintainer': 'Somebody <somebody@example.test>',
    'Installed-Size': '120',
    'Depends': `libc6 (>= 2.34), libgcc-s1 (>= 3.4), lib${nameOf(n)} (= 1.0-1)`,
    'Section': 'utils',
    'Priority': 'optional',
    'Homepage': `https://example.test/${nameOf(n)}`,
    'Description': `package number ${n} of a measurement\n It has a description of a usual length, so that the index has entries of a usual size.\n .\n Nobody installs it.`,
  },
})

/** Packages as files, for tools that read them. */
export async function writeDebs(folder: string, from: number, to: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (let n = from; n < to; n++) {
    const bytes = await buildDeb(specOf(n))
    await writeFile(join(folder, `${nameOf(n)}_1.0-1_amd64.deb`), bytes)
  }
}

function blobOf(n: number): Blob {
  const hex = (algorithm: string): string => createHash(algorithm).update(`bench ${n}`).digest('hex')
  return { sha256: sha256(hex('sha256')), md5: hex('md5'), sha1: hex('sha1'), sha512: hex('sha512'), size: 7 }
}

/** Puts packages where an upload would have put them: rows and pool. The bytes are one file under many names. */
async function stock(
  { db, layout, one }: { readonly db: Db; readonly layout: Layout; readonly one: string },
  from: number,
  to: number,
): Promise<void> {
  for (let start = from; start < to; start += 500) {
    await db.tx(async tx => {
      const manifests: Manifest[] = []
      for (let n = start; n < Math.min(to, start + 500); n++) {
        const name = nameOf(n)
        const blob = blobOf(n)
        await mkdir(dirname(layout.blob(blob.sha256)), { recursive: true })
        await link(`${one}-${n >> 13}`, layout.blob(blob.sha256)) // ext4 gives one file at most 65,000 names
        const at = new Date().toISOString()
        const control = controlText(specOf(n)).trimEnd()
        manifests.push({
          schema: 2,
          ref: { format: 'deb', name, version: '1.0-1', arch: 'amd64', codename: JAMMY },
          files: [{ path: `${name}.deb`, blob }],
          state: 'published',
          reports: [],
          findings: [],
          facts: { control },
          paths: [`usr/bin/${name}`],
          by: 'bench',
          from: 'upload',
          at,
          changed_at: at,
          about: {
            summary: name,
            description: '',
            source: name,
            source_version: '1.0-1',
            depends: [],
            provides: [{ name, version: '1.0-1' }],
            conflicts: [],
          },
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

async function ours(
  root: string,
  { size, earlier }: { readonly size: number; readonly earlier: number },
): Promise<{ readonly first: Figure; readonly cold: Figure; readonly added: Added; readonly back: Figure }> {
  const layout = layoutOf(join(root, 'repos'))
  const embedded = await startEmbedded({ folder: join(root, 'pg'), durable: false })
  const db = createDb(embedded)
  await migrate(db)
  const one = join(root, 'file')
  for (let part = 0; part <= size >> 13; part++) await writeFile(`${one}-${part}`, 'package')
  const keyring = createKeyring({ layout, box: createSecretBox('bench'), clock: systemClock })
  await keyring.generate({ type: 'rsa4096', name: 'Bench', email: 'bench@example.test', overlapDays: 0 })
  const open = (): Publisher =>
    createPublisher({ db, layout, keyring, clock: systemClock, formats: getFormat, repositories })
  await stock({ db, layout, one }, 0, size)
  await db.query('analyze')
  let publisher = open()
  const first = await timed(() => publisher.publish(JAMMY))
  await publisher.close()
  publisher = open() // as after a restart: nothing remembered
  await stock({ db, layout, one }, size, size + 1)
  const cold = await timed(() => publisher.publish(JAMMY))
  const added = await addMany(
    {
      put: n => stock({ db, layout, one }, size + 1 + n, size + 2 + n),
      publish: () => publisher.publish(JAMMY),
      trees: layout.trees,
    },
    earlier,
  )
  const [oldest] = (await publisher.generations(JAMMY)).generations
  const back = await timed(() => publisher.rollback(JAMMY, oldest?.n ?? 1, () => Promise.resolve()))
  await publisher.close()
  await db.close()
  await embedded.stop()
  return { first, cold, back, added }
}

async function reprepro(root: string, size: number): Promise<Figure> {
  await mkdir(join(root, 'conf'), { recursive: true })
  await writeFile(
    join(root, 'conf/distributions'),
    'Codename: jammy\nArchitectures: amd64\nComponents: main\nDebIndices: Packages Release . .gz .xz\n',
  )
  timedTool(
    `find debs -name '*.deb' | sort | head -n ${size} | xargs reprepro --silent -S utils -P optional --export=never -b . includedeb jammy && reprepro --silent -b . export jammy`,
    root,
  )
  return timedTool(
    `reprepro --silent -S utils -P optional -b . includedeb jammy $(find debs -name '*.deb' | sort | tail -n 1)`,
    root,
  )
}

async function aptly(root: string, size: number): Promise<Figure> {
  await writeFile(
    join(root, 'aptly.conf'),
    JSON.stringify({ rootDir: join(root, 'aptly'), architectures: ['amd64'], skipLegacyPool: true }),
  )
  const tool = 'aptly -config=aptly.conf'
  timedTool(
    `${tool} repo create -distribution=jammy -component=main r && find debs -name '*.deb' | sort | head -n ${size} | xargs ${tool} repo add r && ${tool} publish repo -skip-signing -skip-contents r`,
    root,
  )
  return timedTool(
    `${tool} repo add r $(find debs -name '*.deb' | sort | tail -n 1) && ${tool} publish update -skip-signing -skip-contents jammy`,
    root,
  )
}

/** One package more in a distribution of so many: `npm run bench publish-deb -- 1000 10000 60000`. */
export async function run(args: readonly string[]): Promise<boolean> {
  let within = true
  const { sizes, earlier } = readArgs(args)
  for (const size of sizes) {
    const root = await mkdtemp(join(tmpdir(), 'gh-bench-'))
    try {
      const { first, cold, back, added } = await ours(root, { size, earlier })
      console.log(
        `${size} packages: first publication ${show(first)}; one more after a restart ${show(cold)}; ${showAdded(added)}; back to an earlier generation ${show(back)}`,
      )
      const tools: (readonly [string, Figure])[] = []
      if (size <= TOOLS_UP_TO && isInstalled('reprepro', 'aptly')) {
        await writeDebs(join(root, 'debs'), 0, size + 1)
        tools.push(['reprepro', await reprepro(root, size)], ['aptly', await aptly(root, size)])
      }
      const { add } = added
      for (const [tool, figure] of tools) {
        console.log(
          `${size} packages, ${tool}: one more ${show(figure)}; ${(figure.cpu / add.cpu).toFixed(1)} times our CPU, ${(figure.wall / add.wall).toFixed(1)} times our wall`,
        )
      }
      const figures = tools.map(([, figure]) => figure)
      within = isWithin(size, added, figures) && within
    } finally {
      await rm(root, { recursive: true, force: true })
    }
  }
  return within
}
