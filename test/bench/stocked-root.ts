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
import { ADMIN, formOf, json, logIn, namedInTree, send, startServer } from './server.ts'

const BATCH = 500

/** Makes admin, key and distribution, and uploads package 0. @returns its manifest, the model of the others */
async function prepare(root: string, layout: Layout): Promise<Manifest> {
  const server = await startServer(root)
  const agent = new Agent()
  try {
    const token = await logIn(server, agent)
    await send(server, agent, { path: '/distributions/init', token, ...json({ codename: 'jammy' }) })
    const bytes = await buildDeb(specOf(0))
    const { status, text } = await send(server, agent, {
      path: '/upload/',
      token,
      ...formOf(`${nameOf(0)}.deb`, bytes),
    })
    if (status !== 201) throw new Error(`the first upload was answered with ${status} ${text.slice(0, 300)}`)
  } finally {
    agent.destroy()
    await server.stop() // writes what it owes to the files
  }
  const folder = join(layout.manifestFolder('deb', 'jammy' as Manifest['ref']['codename']), nameOf(0))
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
  { model, packages }: { model: Manifest; packages: number },
): Promise<void> {
  for (let start = 1; start < packages; start += BATCH)
    await db.tx(async tx => {
      const manifests: Manifest[] = []
      for (let n = start; n < Math.min(packages, start + BATCH); n++) manifests.push(await place(layout, model, n))
      const written = await insertManifests(tx, manifests)
      await refreshArtifacts(
        tx,
        'deb',
        manifests.map(({ ref }) => ref.name),
      )
      await markDirty(
        tx,
        written.map(({ id, manifest: { ref } }) => ({ id, ref, component: '' })),
      )
    })
  await db.query(`insert into outbox (key, not_before) values ('publish:jammy', now()), ('contents:jammy', now())`)
  await db.query('vacuum analyze')
}

/**
 * Makes a REPOS_ROOT with so many packages in jammy, as a daemon that stopped would have left it: rows, manifests and
 * bytes, not yet published. The first start publishes them.
 */
export async function makeStockedRoot(root: string, packages: number): Promise<void> {
  const layout = layoutOf(root)
  const model = await prepare(root, layout)
  const embedded = await startEmbedded({ folder: layout.database, durable: false })
  const db = createDb(embedded)
  try {
    await stock(db, layout, { model, packages })
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
