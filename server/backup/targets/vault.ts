import { createHash, createHmac } from 'node:crypto'
import { ageSize, openAge, sealAge } from '../age.ts'
import { BadArchive } from '../archive-reader.ts'
import { bytesOf, readAll, type TargetStore } from './target-store.ts'

/**
 * How a target keeps blobs: as they are, or sealed. Layout of a target:
 *
 *     gatehouse-target.json                       whose it is (`marker.ts`)
 *     blobs/ab/<SHA-256>                          files of backups, each once
 *     snapshots/<name>.json.gz                    which files a backup has: written last
 *     keys/<id>.age                               an age identity, sealed with the passphrase
 *     sealed-<id>/ab/<HMAC of the SHA-256>        files, each encrypted to that identity
 *     snapshots/<name>.<id>.json.gz.age
 *
 * Without the passphrase, names tell nothing of what lies there. `age -d keys/<id>.age > key`, then
 * `age -d -i key <file>` opens any of it without this service.
 */
export interface Vault {
  /** Undefined: blobs lie as they are. */
  readonly id: string | undefined
  /** The folder of its blobs, with a slash. */
  readonly blobs: string
  blobKey(sha256: string): string
  snapshotKey(name: string): string
  /** Bytes on the target of so many. */
  sealedSize(bytes: number): number
  seal(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  /** @throws BadArchive where the bytes are damaged */
  open(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>
}

const MAX_KEY = 64 * 1024
const SNAPSHOT = /^snapshots\/(gatehouse_backup_\d{8}_\d{6})(?:\.([0-9a-f]{16}))?\.json\.gz(?:\.age)?$/
const KEY = /^keys\/([0-9a-f]{16})\.age$/

/** A snapshot as its key tells it; `vault` undefined: it is not encrypted. */
export interface SnapshotKey {
  readonly key: string
  readonly name: string
  readonly vault: string | undefined
}

/** The snapshots on a target, newest first. */
export async function listSnapshots(store: TargetStore, signal: AbortSignal): Promise<SnapshotKey[]> {
  const found: SnapshotKey[] = []
  for await (const { key } of store.list('snapshots/', signal)) {
    const [, name, vault] = SNAPSHOT.exec(key) ?? []
    if (name !== undefined) found.push({ key, name, vault })
  }
  return found.sort((a, b) => (a.name < b.name ? 1 : -1))
}

const isBlob = /^[0-9a-f]{2}\/[0-9a-f]{64}$/
/** Whether a key below a vault's folder is one of its blobs. */
export const isBlobKey = ({ blobs }: Pick<Vault, 'blobs'>, key: string): boolean =>
  key.startsWith(blobs) && isBlob.test(key.slice(blobs.length))

const PLAIN: Vault = {
  id: undefined,
  blobs: 'blobs/',
  blobKey: sha256 => `blobs/${sha256.slice(0, 2)}/${sha256}`,
  snapshotKey: name => `snapshots/${name}.json.gz`,
  sealedSize: bytes => bytes,
  seal: body => body,
  open: body => body,
}

async function sealedVault(identity: string): Promise<Vault> {
  const { identityToRecipient } = await import('age-encryption')
  const recipient = await identityToRecipient(identity)
  const id = createHash('sha256').update(recipient).digest('hex').slice(0, 16)
  const naming = createHash('sha256').update('gatehouse blob names\0').update(identity).digest()
  const blobs = `sealed-${id}/`
  return {
    id,
    blobs,
    blobKey: sha256 => {
      const name = createHmac('sha256', naming).update(sha256).digest('hex')
      return `${blobs}${name.slice(0, 2)}/${name}`
    },
    snapshotKey: name => `snapshots/${name}.${id}.json.gz.age`,
    sealedSize: ageSize,
    seal: body => sealAge(body, { recipient }),
    open: async function* open(body) {
      let failed: unknown
      const source = (async function* watched() {
        try {
          yield* body
        } catch (error) {
          failed = error
          throw error
        }
      })()
      try {
        yield* await openAge(source, { identity })
      } catch (error) {
        // what the target said matters more than that the rest is missing
        throw failed ?? new BadArchive('It is damaged: it cannot be decrypted.', error)
      }
    },
  }
}

/** @returns undefined where the passphrase is another one */
async function openKey(
  store: TargetStore,
  key: string,
  passphrase: string,
  signal: AbortSignal,
): Promise<Vault | undefined> {
  const body = await store.read(key, signal)
  if (body === undefined) return undefined
  const sealed = await readAll(body, MAX_KEY)
  const text = await openAge(bytesOf(sealed), { passphrase })
    .then(plain => readAll(plain, MAX_KEY))
    .catch(() => undefined)
  const identity = text
    ?.toString('utf8')
    .split('\n')
    .find(line => line.startsWith('AGE-SECRET-KEY-1'))
  return identity === undefined ? undefined : sealedVault(identity)
}

/** The ids of the keys on a target. */
export async function listKeys(store: TargetStore, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  for await (const { key } of store.list('keys/', signal)) {
    const id = KEY.exec(key)?.[1]
    if (id !== undefined) ids.push(id)
  }
  return ids
}

export const keyOf = (id: string): string => `keys/${id}.age`

/**
 * The vault that a backup with this passphrase is written to. A passphrase that opens no key of the target gets a key
 * of its own, and so all blobs once more.
 */
export async function vaultToWrite(store: TargetStore, passphrase: string, signal: AbortSignal): Promise<Vault> {
  if (passphrase === '') return PLAIN
  for (const id of await listKeys(store, signal)) {
    const vault = await openKey(store, keyOf(id), passphrase, signal)
    if (vault?.id === id) return vault
  }
  const { generateX25519Identity } = await import('age-encryption')
  const identity = await generateX25519Identity()
  const vault = await sealedVault(identity)
  const plain = bytesOf(`# opens the backups on this target\n${identity}\n`)
  await store.put(keyOf(vault.id ?? ''), sealAge(plain, { passphrase }), signal)
  await store.settle()
  return vault
}

/** The vault of a snapshot. @throws BadArchive where the passphrase does not open it */
export async function vaultToRead(
  store: TargetStore,
  { vault: id, name }: SnapshotKey,
  passphrase: string,
  signal: AbortSignal,
): Promise<Vault> {
  if (id === undefined) return PLAIN
  if (passphrase === '')
    throw new BadArchive(`${name} is encrypted. Give the passphrase that was set when it was made.`)
  const vault = await openKey(store, keyOf(id), passphrase, signal)
  if (vault?.id === id) return vault
  if (!(await listKeys(store, signal)).includes(id))
    throw new BadArchive(`The target lacks the key ${keyOf(id)}: ${name} cannot be read.`)
  throw new BadArchive(`The passphrase is not the one that ${name} was encrypted with.`)
}
