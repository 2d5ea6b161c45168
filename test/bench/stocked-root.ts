import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { dirname, join } from 'node:path'
import { insertManifests } from '../../server/catalog/queries/insert.ts'
import { markDirty, refreshArtifacts } from '../../server/catalog/queries/store.ts'
import { sha256 } from '../../server/core/identity.ts'
import type { Manifest } from '../../server/core/manifest.ts'
import { readManifest } from '../../server/core/read-manifest.ts'
import { createDb, type Db } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import type { Layout } from '../../server/files/layout.ts'
import { getFormat } from '../../server/formats/index.ts'
import { digestBytes } from '../../server/lib/digest.ts'
import { buildDeb } from '../support/packages.ts'
import { layoutOf } from '../support/repositories.ts'
import { nameOf } from './add-one.ts'
import { specOf } from './publish-deb.ts'
import { ADMIN, formOf, json, logIn, namedInTree, send, startServer, type Server } from './server.ts'

const BATCH = 500

/** Manifests that those of others are made after. */
interface Models {
  readonly published: Manifest
  /** Absent where none is to be held. */
  readonly held: Manifest | undefined
}

/** Makes admin, key and distribution, uploads package 0, and package 1 where some are to be held. */
async function prepare(root: string, layout: Layout, someHeld: boolean): Promise<Models> {
  const server = await startServer(root)
  const agent = new Agent()
  try {
    const token = await logIn(server, agent)
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    for (const n of someHeld ? [0, 1] : [0]) {
      const { status, text } = await send(server, agent, {
        path: '/upload/',
        token,
        ...formOf(`${nameOf(n)}.deb`, await buildDeb(specOf(n))),
      })
      if (status >= 300) throw new Error(`upload ${n} was answered with ${status} ${text.slice(0, 300)}`)
      // no engine looks at them, which is a reason to hold the next one
      if (someHeld) await setUnavailable(server, agent, { token, to: n === 0 ? 'hold' : 'warn' })
    }
  } finally {
    agent.destroy()
    await server.stop() // writes what it owes to the files
  }
  return { published: await manifestOf(layout, 0), held: someHeld ? await manifestOf(layout, 1) : undefined }
}

async function setUnavailable(
  server: Server,
  agent: Agent,
  { token, to }: { token: string; to: 'hold' | 'warn' },
): Promise<void> {
  const change = json({ validation: { on_scanner_unavailable: to } })
  const { status, text } = await send(server, agent, { path: '/settings/', token, method: 'PATCH', ...change })
  if (status !== 200) throw new Error(`the setting was answered with ${status} ${text.slice(0, 300)}`)
}

async function manifestOf(layout: Layout, n: number): Promise<Manifest> {
  const folder = join(layout.manifestFolder('deb', 'jammy' as Manifest['ref']['codename']), nameOf(n))
  const [name = ''] = await readdir(folder)
  return readManifest(JSON.parse(await readFile(join(folder, name), 'utf8')))
}

async function put(file: string, content: Buffer | string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
}

/** Puts package n where an upload would have put it: its bytes into the pool, its manifest on disk. */
async function place(layout: Layout, model: Manifest, n: number): Promise<Manifest> {
  const spec = specOf(n)
  const bytes = await buildDeb(spec)
  const digests = digestBytes(bytes)
  const blob = { ...digests, sha256: sha256(digests.sha256), size: bytes.length }
  const path = layout.blob(blob.sha256)
  await put(path, bytes)
  const filename = `${spec.name}_1.0-1_amd64.deb`
  const file = { path, filename, blob, head: bytes.subarray(0, 512), discard: () => Promise.resolve() }
  const { identity, about, facts, paths } = await getFormat('deb').inspect(file, new AbortController().signal)
  const manifest: Manifest = {
    ...model,
    ref: { ...identity, codename: model.ref.codename },
    files: [{ path: filename, blob }],
    about,
    facts,
    paths,
  }
  await put(layout.manifest(manifest.ref), `${JSON.stringify(manifest)}\n`)
  return manifest
}

async function stock(
  db: Db,
  layout: Layout,
  { models, packages, held }: { models: Models; packages: number; held: number },
): Promise<void> {
  const first = models.held === undefined ? 1 : 2
  for (let start = first; start < packages; start += BATCH)
    await db.tx(async tx => {
      const manifests: Manifest[] = []
      for (let n = start; n < Math.min(packages, start + BATCH); n++) {
        // package 1 is one of them
        const model = n > packages - held ? models.held : undefined
        manifests.push(await place(layout, model ?? models.published, n))
      }
      const written = await insertManifests(tx, manifests)
      await refreshArtifacts(
        tx,
        'deb',
        manifests.map(({ ref }) => ref.name),
      )
      await markDirty(
        tx,
        written
          .filter(({ manifest }) => manifest.state === 'published')
          .map(({ id, manifest: { ref } }) => ({ id, ref, component: '' })),
      )
    })
  await db.query(`insert into outbox (key, not_before) values ('publish:jammy', now()), ('contents:jammy', now())`)
  await db.query('vacuum analyze')
}

/**
 * Makes a REPOS_ROOT with so many packages in jammy, as a daemon that stopped would have left it: rows, manifests and
 * bytes, not yet published. The first start publishes them.
 * @param held  how many of them wait for a decision
 */
export async function makeStockedRoot(root: string, packages: number, held = 0): Promise<void> {
  const layout = layoutOf(root)
  const models = await prepare(root, layout, held > 0)
  const embedded = await startEmbedded({ folder: layout.database, durable: false })
  const db = createDb(embedded)
  try {
    await stock(db, layout, { models, packages, held })
  } finally {
    await db.close()
    await embedded.stop()
  }
}

/** `npm run bench stocked-root -- /new/folder 20000` makes one, published, to measure with. */
export async function run([root, packages = '20000']: readonly string[]): Promise<boolean> {
  if (root === undefined || existsSync(root)) {
    process.stderr.write('npm run bench stocked-root -- <a folder that does not exist> [packages]\n')
    return false
  }
  await mkdir(root, { recursive: true })
  await makeStockedRoot(root, Number(packages))
  const server = await startServer(root)
  await namedInTree(server, Number(packages))
  await server.stop()
  console.log(`${packages} packages in ${root}; ${ADMIN.username} has the password ${ADMIN.password}`)
  return true
}
