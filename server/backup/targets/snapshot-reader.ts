import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { lasting } from '../../lib/pieces.ts'
import type { Member } from '../archive-manifest.ts'
import { BadArchive, isInside, openNew, readManifest, type ReadArchive } from '../archive-reader.ts'
import type { BackupSource, ReadOptions } from '../source.ts'
import { inLanes } from '../../lib/in-lanes.ts'
import type { SnapshotText } from './snapshot-writer.ts'
import { readAll, TargetTrouble, type TargetStore } from './target-store.ts'
import { listSnapshots, vaultToRead, type SnapshotKey, type Vault } from './vault.ts'

const LANES = 3
const MAX_SNAPSHOT = 512 * 2 ** 20

/** @throws BadArchive where the target has none of that name */
async function find(store: TargetStore, name: string, signal: AbortSignal): Promise<SnapshotKey> {
  const all = await listSnapshots(store, signal)
  const found = all.find(one => one.name === name)
  if (found === undefined)
    throw new BadArchive(
      `There is no ${name} on ${store.address}${all[0] === undefined ? '' : `; the newest there is ${all[0].name}`}.`,
    )
  return found
}

/** @throws BadArchive where the list of a snapshot is not as it was written */
export async function readList(
  store: TargetStore,
  vault: Vault,
  { key, name }: SnapshotKey,
  signal: AbortSignal,
): Promise<ReadArchive> {
  const body = await store.read(key, signal)
  if (body === undefined) throw new BadArchive(`${name} went away while it was read.`)
  const damaged = `The list of ${name} on the target is damaged.`
  const gunzip = createGunzip()
  const reading = pipeline(lasting(vault.open(body)), gunzip, { signal })
  reading.catch(() => undefined)
  let text: Partial<SnapshotText>
  try {
    text = JSON.parse((await readAll(gunzip, MAX_SNAPSHOT)).toString('utf8')) as Partial<SnapshotText>
    await reading
  } catch (error) {
    gunzip.destroy()
    signal.throwIfAborted()
    if (error instanceof TargetTrouble) throw error
    throw new BadArchive(damaged, error)
  }
  if (typeof text.manifest !== 'string') throw new BadArchive(damaged)
  const manifestBytes = Buffer.from(text.manifest)
  const manifest = readManifest(manifestBytes)
  if (manifest.name !== name) throw new BadArchive(`The list of ${name} on the target is that of ${manifest.name}.`)
  for (const { path } of manifest.files)
    if (!isInside(path))
      throw new BadArchive(`${name} has a member with the path ${JSON.stringify(path)}, which no backup has.`)
  if (new Set(manifest.files.map(({ path }) => path)).size !== manifest.files.length)
    throw new BadArchive(`${name} names a file twice.`)
  return { manifest, manifestBytes, signature: text.signature }
}

interface Reading {
  readonly store: TargetStore
  readonly vault: Vault
  readonly to: string | undefined
  readonly signal: AbortSignal
}

/** Reads one member, and compares it. @throws BadArchive */
async function readMember({ path, size, sha256 }: Member, { store, vault, to, signal }: Reading): Promise<void> {
  const body = await store.read(vault.blobKey(sha256), signal)
  if (body === undefined) throw new BadArchive(`The target lacks the blob of ${path}.`)
  const hash = createHash('sha256')
  let seen = 0
  const file = to === undefined ? undefined : await openNew(join(to, path))
  try {
    for await (const piece of vault.open(body)) {
      hash.update(piece)
      seen += piece.length
      if (seen > size) break
      await file?.writeFile(piece)
    }
  } catch (error) {
    if (!(error instanceof BadArchive)) throw error
    throw new BadArchive(`${path} on the target is damaged: it cannot be decrypted.`, error)
  } finally {
    await file?.close()
  }
  const found = hash.digest('hex')
  if (seen !== size || found !== sha256)
    throw new BadArchive(`${path} on the target is damaged: its SHA-256 is ${found}, the manifest says ${sha256}.`)
}

/**
 * A snapshot on a target, read back member by member.
 * @param onDamaged  called with the key of a blob that is not what its name says; reading then goes on to the end, and
 * fails there
 */
export function snapshotSource(
  store: TargetStore,
  name: string,
  { onDamaged }: { readonly onDamaged?: (key: string) => void } = {},
): BackupSource {
  async function open(passphrase: string, signal: AbortSignal) {
    const snapshot = await find(store, name, signal)
    const vault = await vaultToRead(store, snapshot, passphrase, signal)
    return { vault, list: await readList(store, vault, snapshot, signal) }
  }

  async function read({ passphrase, to, signal, told = () => undefined }: ReadOptions): Promise<ReadArchive> {
    const { vault, list } = await open(passphrase, signal)
    let [files, bytes] = [0, 0]
    let damaged: BadArchive | undefined
    await inLanes(LANES, list.manifest.files, async member => {
      signal.throwIfAborted()
      try {
        await readMember(member, { store, vault, to, signal })
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof BadArchive) || onDamaged === undefined) throw error
        damaged ??= error
        onDamaged(vault.blobKey(member.sha256))
      }
      told((files += 1), (bytes += member.size))
    })
    if (damaged !== undefined) throw damaged
    return list
  }

  return {
    read,
    about: async (passphrase, signal) => (await open(passphrase, signal)).list.manifest,
    sizeBytes: async passphrase => {
      const { list } = await open(passphrase, new AbortController().signal)
      return list.manifest.files.reduce((sum, { size }) => sum + size, 0)
    },
  }
}
