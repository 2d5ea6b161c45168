import { readFile, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { BadArchive } from '../archive-reader.ts'
import { archiveSource, type BackupSource } from '../source.ts'
import { createFolderStore } from './folder-store.ts'
import { createS3Store } from './s3-store.ts'
import { snapshotSource } from './snapshot-reader.ts'
import type { TargetStore } from './target-store.ts'
import { listSnapshots } from './vault.ts'

/** A backup that somebody named on the command line. */
export interface NamedSource {
  readonly source: BackupSource
  /** What it is, in a word. */
  readonly what: string
  close(): void
}

const NAME = /^gatehouse_backup_\d{8}_\d{6}$/
// whoever restores may reach what this machine reaches
const EVERYWHERE = '0.0.0.0/0,::/0'

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

async function bucketAt(text: string, env: NodeJS.ProcessEnv): Promise<[TargetStore, string | undefined]> {
  const url = new URL(text)
  const [bucket = '', ...rest] = url.pathname
    .split('/')
    .filter(part => part !== '')
    .map(decodeURIComponent)
  const [accessKey, secretKey] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY']]
  if (bucket === '') throw new BadArchive(`${text} names no bucket: https://s3.example/bucket/prefix.`)
  if (accessKey === undefined || secretKey === undefined)
    throw new BadArchive(`To read ${text}, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_REGION.`)
  const name = NAME.test(rest.at(-1) ?? '') ? rest.pop() : undefined
  const bundle = env['AWS_CA_BUNDLE']
  const place = {
    endpoint: url.origin,
    bucket,
    accessKey,
    secretKey,
    region: env['AWS_REGION'] ?? 'us-east-1',
    allow: EVERYWHERE,
    ca: bundle === undefined ? undefined : await readFile(bundle, 'utf8'),
  }
  return [createS3Store(place, rest.join('/')), name]
}

/** @returns undefined where it is neither a target nor a snapshot on one */
async function folderAt(path: string): Promise<[TargetStore, string | undefined] | undefined> {
  if (await isFolder(path)) return [createFolderStore(path), undefined]
  const name = basename(path)
  return NAME.test(name) && (await isFolder(dirname(path))) ? [createFolderStore(dirname(path)), name] : undefined
}

/**
 * The backup of this name: an archive's path, the address of a target (its newest snapshot), or that with the name of a
 * snapshot behind it. A bucket's keys stand in the environment, as for other clients of S3.
 * @throws BadArchive, TargetTrouble
 */
export async function namedSource(text: string, env: NodeJS.ProcessEnv): Promise<NamedSource> {
  const found = /^https?:\/\//.test(text) ? await bucketAt(text, env) : await folderAt(text)
  if (found === undefined) return { source: archiveSource(text), what: text, close: () => undefined }
  const [store, asked] = found
  const name = asked ?? (await listSnapshots(store, new AbortController().signal))[0]?.name
  if (name === undefined) {
    store.close()
    throw new BadArchive(`There is no backup on ${store.address}.`)
  }
  return { source: snapshotSource(store, name), what: `${name} on ${store.address}`, close: () => store.close() }
}
