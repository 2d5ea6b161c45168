import { randomBytes } from 'node:crypto'
import { bytesOf, readAll, TargetTrouble, type TargetStore } from './target-store.ts'
import { listSnapshots } from './vault.ts'

const MARKER = 'gatehouse-target.json'
const MAX_MARKER = 16 * 1024

interface Marker {
  readonly format: 1
  readonly installation: string
  readonly made_at: string
}

async function readMarker(store: TargetStore, signal: AbortSignal): Promise<Marker | undefined> {
  const body = await store.read(MARKER, signal)
  if (body === undefined) return undefined
  try {
    const marker = JSON.parse((await readAll(body, MAX_MARKER)).toString('utf8')) as Partial<Marker>
    if (marker.format === 1 && typeof marker.installation === 'string') return marker as Marker
  } catch (error) {
    if (error instanceof TargetTrouble) throw error
  }
  throw new TargetTrouble(`${MARKER} on ${store.address} is not one that this release writes. Take another place.`)
}

/**
 * Makes sure that a target is there and is this installation's. The first time it is marked as such; after that a
 * target without the mark is not there: a disk that is not plugged in leaves an empty directory.
 * @param isKnown  whether it was marked before
 * @throws TargetTrouble
 */
export async function claimTarget(
  store: TargetStore,
  { installation, isKnown, now }: { readonly installation: string; readonly isKnown: boolean; readonly now: Date },
  signal: AbortSignal,
): Promise<void> {
  const marker = await readMarker(store, signal)
  if (marker?.installation === installation) return
  if (marker !== undefined)
    throw new TargetTrouble(
      `${store.address} keeps the backups of another installation. Give this one a place or a prefix of its own.`,
    )
  if (isKnown)
    throw new TargetTrouble(
      `${store.address} is not the target that it was: ${MARKER} is missing. Is the disk plugged in and mounted? To begin anew there, name another place in the settings and then this one again.`,
    )
  if ((await listSnapshots(store, signal)).length > 0)
    throw new TargetTrouble(
      `${store.address} has snapshots without ${MARKER}, so nobody knows whose. Take another place.`,
    )
  const fresh: Marker = { format: 1, installation, made_at: now.toISOString() }
  await store.put(MARKER, bytesOf(`${JSON.stringify(fresh)}\n`), signal)
  await store.settle()
}

/** Writes, reads, lists and removes a small file. @throws TargetTrouble where one of them does not work */
export async function tryStore(store: TargetStore, signal: AbortSignal): Promise<void> {
  const key = `probe/${randomBytes(8).toString('hex')}`
  const text = `written by a test of the connection, ${key}`
  await store.put(key, bytesOf(text), signal)
  await store.settle()
  const body = await store.read(key, signal)
  const found = body && (await readAll(body, MAX_MARKER)).toString('utf8')
  if (found !== text) throw new TargetTrouble(`${store.address} does not give back what was written to it.`)
  let isListed = false
  for await (const one of store.list('probe/', signal)) isListed ||= one.key === key
  if (!isListed) throw new TargetTrouble(`${store.address} does not list what was written to it.`)
  await store.remove(key, signal)
}
