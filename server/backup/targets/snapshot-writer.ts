import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { failpoint } from '../../lib/failpoint.ts'
import { piecesOf } from '../../lib/pieces.ts'
import type { Member } from '../archive-manifest.ts'
import { slowly, type Cut, type WriteOptions } from '../cut.ts'
import { inLanes } from '../../lib/in-lanes.ts'
import { TargetTrouble, type TargetStore } from './target-store.ts'
import { isBlobKey, vaultToWrite, type Vault } from './vault.ts'

/** A snapshot that was written. */
export interface MadeSnapshot {
  /** Bytes of all that is in it. */
  readonly size: number
  /** Bytes that the target did not have. */
  readonly written: number
  readonly encrypted: boolean
}

/** What the file of a snapshot holds, as JSON. */
export interface SnapshotText {
  /** The manifest as it is signed. */
  readonly manifest: string
  readonly signature?: string
}

/** Files that are written at the same time: each may hold a part of 8 MiB. */
const LANES = 3
const LISTED = 64 * 2 ** 20

interface Planned extends Member {
  readonly key: string
}

/** A file that is not what its name says. */
class OtherBytes extends Error {
  readonly sha256: string
  constructor(path: string, sha256: string) {
    super(`${path} changed while it was read`)
    this.sha256 = sha256
  }
}

/** The digest of a file: of a package it is its name, so that one of before need not be read. */
const claimed = (path: string): string | undefined =>
  /^(?:pool|quarantine)\//.test(path) ? /^[0-9a-f]{64}$/.exec(basename(path))?.[0] : undefined

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of piecesOf(path)) hash.update(piece)
  return hash.digest('hex')
}

async function plan({ folder, paths }: Cut, vault: Vault, signal: AbortSignal): Promise<Planned[]> {
  const planned = new Map<string, Planned>()
  await inLanes(LANES, paths, async path => {
    signal.throwIfAborted()
    const from = join(folder, path)
    const sha256 = claimed(path) ?? (await digestOf(from))
    planned.set(path, { path, size: (await stat(from)).size, sha256, key: vault.blobKey(sha256) })
  })
  return paths.map(path => planned.get(path)).filter(one => one !== undefined)
}

/** The bytes of a file. @throws OtherBytes at their end, before the target takes them for whole */
async function* checked(from: string, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const piece of piecesOf(from)) {
    hash.update(piece)
    yield piece
  }
  const found = hash.digest('hex')
  if (found !== sha256) throw new OtherBytes(basename(from), found)
}

async function sizesOf(store: TargetStore, vault: Vault, signal: AbortSignal): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { key, sizeBytes } of store.list(vault.blobs, signal))
    if (isBlobKey(vault, key)) sizes.set(key, sizeBytes)
  return sizes
}

async function refuseFull(store: TargetStore, needs: number): Promise<void> {
  const free = await store.free()
  // the list, and what a file system needs for many small files
  if (free !== undefined && free < needs * 1.02 + LISTED / 16)
    throw new TargetTrouble(
      `${store.address} has ${Math.floor(free / 1e6)} MB free, and this backup needs ${Math.ceil(needs / 1e6)} MB there. Make room, or remove older backups.`,
    )
}

/** @throws the reason of `signal`, TargetTrouble, and the errors of this disk */
async function putBlob(
  store: TargetStore,
  vault: Vault,
  one: Planned,
  options: { folder: string; signal: AbortSignal },
) {
  const from = join(options.folder, one.path)
  try {
    await store.put(one.key, vault.seal(checked(from, one.sha256)), options.signal)
    return one
  } catch (error) {
    if (!(error instanceof OtherBytes) || claimed(one.path) === undefined) throw error
    // a damaged package is kept as it is, under the digest that it has: npm run verify names it
    const { sha256 } = error
    const key = vault.blobKey(sha256)
    await store.put(key, vault.seal(checked(from, sha256)), options.signal)
    return { ...one, sha256, key }
  }
}

/** The file of a snapshot: what is in it, and where from. */
async function putSnapshot(
  store: TargetStore,
  vault: Vault,
  cut: Cut,
  members: readonly Member[],
  signal: AbortSignal,
) {
  const [manifest, signature] = await cut.conclude(members)
  const text: SnapshotText = { manifest, ...(signature === undefined ? {} : { signature }) }
  let written = 0
  const zipped = Readable.from([JSON.stringify(text)]).pipe(createGzip()) as AsyncIterable<Buffer>
  const counted = (async function* counted() {
    for await (const piece of vault.seal(zipped)) {
      written += piece.length
      yield piece
    }
  })()
  await store.put(vault.snapshotKey(cut.name), counted, signal)
  await store.settle()
  return written
}

/**
 * Writes a cut onto a target: blobs that it does not have, then the snapshot that names them all. A run that ends early
 * leaves blobs that no snapshot names, and the next one uses them.
 * @throws TargetTrouble, the errors of this disk, and the reason of the signal
 */
export async function writeSnapshot(
  store: TargetStore,
  cut: Cut,
  { passphrase, signal, told }: WriteOptions,
): Promise<MadeSnapshot> {
  const vault = await vaultToWrite(store, passphrase, signal)
  const there = await sizesOf(store, vault, signal)
  const all = await plan(cut, vault, signal)
  const lacking = new Map<string, Planned>()
  for (const one of all) if (there.get(one.key) !== vault.sealedSize(one.size)) lacking.set(one.key, one)
  let written = [...lacking.values()].reduce((sum, { size }) => sum + vault.sealedSize(size), 0)
  await refuseFull(store, written)
  const telling = slowly(told, cut.sizeBytes)
  const isLacking = new Set([...lacking.values()].map(({ path }) => path))
  let bytes = all.reduce((sum, { path, size }) => sum + (isLacking.has(path) ? 0 : size), 0)
  const others = new Map<string, string>()
  await inLanes(LANES, [...lacking.values()], async one => {
    signal.throwIfAborted()
    const { sha256 } = await putBlob(store, vault, one, { folder: cut.folder, signal })
    if (sha256 !== one.sha256) others.set(one.path, sha256)
    telling.tell((bytes += one.size))
    failpoint('target:after-blob')
  })
  await store.settle() // before anything names them
  failpoint('target:before-snapshot')
  const members = all.map(({ path, size, sha256 }) => ({ path, size, sha256: others.get(path) ?? sha256 }))
  written += await putSnapshot(store, vault, cut, members, signal)
  await telling.end()
  return { size: cut.sizeBytes, written, encrypted: vault.id !== undefined }
}
