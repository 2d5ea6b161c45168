import { stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { ArchiveManifest, Member } from '../../server/backup/archive-manifest.ts'
import { writeArchive } from '../../server/backup/archive-writer.ts'
import type { Cut } from '../../server/backup/cut.ts'
import { archiveSource, type BackupSource } from '../../server/backup/source.ts'
import { createFolderStore } from '../../server/backup/targets/folder-store.ts'
import { snapshotSource } from '../../server/backup/targets/snapshot-reader.ts'
import { writeSnapshot } from '../../server/backup/targets/snapshot-writer.ts'
import { listSnapshots } from '../../server/backup/targets/vault.ts'
import { archiveName } from '../../server/backup/archive-manifest.ts'
import { listFiles } from '../../server/lib/list-files.ts'
import { timed } from './tools.ts'

// One step of `npm run bench backup`, alone in its process: what it peaks at is its own.
const [what = '', from = '', to = '', passphrase = ''] = process.argv.slice(2)
const { signal } = new AbortController()

async function cutOf(folder: string): Promise<Cut> {
  const name = archiveName(new Date())
  const paths = (await listFiles(folder)).map(path => relative(folder, path))
  let sizeBytes = 0
  for (const path of paths) sizeBytes += (await stat(join(folder, path))).size
  const conclude = async (files: readonly Member[]) => {
    const manifest: Partial<ArchiveManifest> = { format: 1, name, files }
    return [`${JSON.stringify(manifest, null, 1)}\n`, undefined] as const
  }
  return { name, folder, paths, sizeBytes, packages: paths.length, conclude }
}

async function bytesRead(source: BackupSource): Promise<number> {
  const { manifest } = await source.read({ passphrase, to, signal })
  return manifest.files.reduce((sum, { size }) => sum + size, 0)
}

/** @returns the bytes that it wrote */
async function run(): Promise<number> {
  if (what === 'archive') {
    const cut = await cutOf(from)
    await writeArchive({ ...cut, to, passphrase, signal, told: () => undefined })
    return (await stat(to)).size
  }
  if (what === 'snapshot') {
    const told = (): Promise<void> => Promise.resolve()
    return (await writeSnapshot(createFolderStore(to), await cutOf(from), { passphrase, signal, told })).written
  }
  if (what === 'read-archive') return bytesRead(archiveSource(from))
  const store = createFolderStore(from)
  const all = await listSnapshots(store, signal)
  const one = all.find(({ vault }) => (vault === undefined) === (passphrase === ''))
  return bytesRead(snapshotSource(store, one?.name ?? ''))
}

let bytes = 0
const figure = await timed(async () => {
  bytes = await run()
})
process.stdout.write(JSON.stringify({ ...figure, bytes, rssMb: process.resourceUsage().maxRSS / 1024 }))
