import { readList } from './snapshot-reader.ts'
import type { TargetStore } from './target-store.ts'
import { isBlobKey, keyOf, listKeys, listSnapshots, vaultToWrite, type Vault } from './vault.ts'

/** What a younger blob belongs to may not be written yet. */
const YOUNG_MS = 86_400_000

/** What a sweep removed. */
export interface Swept {
  readonly blobs: number
  readonly bytes: number
}

/** Removes what `keep` does not name below a folder, unless it is young. */
async function removeOthers(
  store: TargetStore,
  folder: string,
  { keep, before, signal }: { keep: (key: string) => boolean; before: Date; signal: AbortSignal },
): Promise<Swept & { readonly left: number }> {
  let [blobs, bytes, left] = [0, 0, 0]
  for await (const { key, sizeBytes, modifiedAt } of store.list(folder, signal)) {
    if (keep(key) || !(modifiedAt < before)) {
      left += 1
      continue
    }
    await store.remove(key, signal)
    blobs += 1
    bytes += sizeBytes
  }
  return { blobs, bytes, left }
}

/** The blobs that the snapshots of a vault name. @throws BadArchive where one of them cannot be read */
async function named(store: TargetStore, vault: Vault, signal: AbortSignal): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const snapshot of await listSnapshots(store, signal)) {
    if (snapshot.vault !== vault.id) continue
    const { manifest } = await readList(store, vault, snapshot, signal)
    for (const { sha256 } of manifest.files) keys.add(vault.blobKey(sha256))
  }
  return keys
}

/**
 * Removes blobs that no snapshot names any more and that are older than a day, by the target's own clock. Runs after a
 * backup, as part of its job, of which one runs at a time: so nobody relies on a blob that goes. Blobs of a passphrase
 * of before stay as long as it has a snapshot.
 * @throws BadArchive where a snapshot cannot be read: then nothing is removed
 */
export async function sweepTarget(store: TargetStore, passphrase: string, signal: AbortSignal): Promise<Swept> {
  const before = new Date((await store.now(signal)).getTime() - YOUNG_MS)
  await store.sweepUnfinished(before, signal)
  const vault = await vaultToWrite(store, passphrase, signal)
  const keep = await named(store, vault, signal)
  const isKept = (key: string): boolean => keep.has(key) || !isBlobKey(vault, key)
  const own = await removeOthers(store, vault.blobs, { keep: isKept, before, signal })
  let { blobs, bytes } = own
  const used = new Set((await listSnapshots(store, signal)).map(one => one.vault))
  const unused = (await listKeys(store, signal)).filter(id => id !== vault.id && !used.has(id))
  for (const folder of [
    ...unused.map(id => `sealed-${id}/`),
    ...(vault.id === undefined || used.has(undefined) ? [] : ['blobs/']),
  ]) {
    const swept = await removeOthers(store, folder, { keep: () => false, before, signal })
    blobs += swept.blobs
    bytes += swept.bytes
    const id = /^sealed-(.*)\/$/.exec(folder)?.[1]
    if (swept.left === 0 && id !== undefined) await store.remove(keyOf(id), signal)
  }
  return { blobs, bytes }
}
