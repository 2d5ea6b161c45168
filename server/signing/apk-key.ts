import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto'
import { mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Layout } from '../files/layout.ts'
import { writeAtomic } from '../lib/atomic.ts'
import type { Clock } from '../lib/clock.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import type { RsaKeyCard, RsaSigned } from './signer.ts'

/**
 * RSA keys of APK indexes on disk: `keyring/rsa-<fingerprint>.json`, mode 0600, the secret part encrypted, and
 * `apk/keys/<key_name>` for clients. The current key has no end; the others sign beside it until theirs.
 */
interface Stored {
  readonly key_name: string
  readonly created_at: string
  readonly retires_at?: string
  readonly sealed: string
}

interface RsaKey {
  readonly card: RsaKeyCard
  readonly secret: KeyObject
  readonly open: KeyObject
}

export interface ApkKeyDeps {
  readonly layout: Pick<Layout, 'keyring' | 'apkKeys'>
  readonly box: SecretBox
  readonly clock: Clock
}

/** The RSA keys of this machine; apk knows no other kind. */
export interface ApkKeys {
  /** The active keys, the current one first. */
  known(): Promise<readonly RsaKeyCard[]>
  /** The same, but makes one when there is none, which takes a second or two. */
  cards(): Promise<readonly RsaKeyCard[]>
  /** Makes a new key and lets the old ones sign for the overlap. Does nothing where none was needed yet. */
  rotate(overlapDays: number): Promise<void>
  /** Writes the public files from the keyring. @returns true when they were different */
  publish(): Promise<boolean>
  /** Reads the keys again at the next use. */
  reload(): void
  sign(bytes: Uint8Array, hash: RsaSigned['hash']): Promise<readonly RsaSigned[]>
  verify(bytes: Uint8Array, signed: RsaSigned): Promise<boolean>
}

const DAY_MS = 86_400_000
// apk-tools takes any size; abuild-keygen makes 4096 too
const BITS = 4096
const makePair = promisify(generateKeyPair)
const signAsync = promisify<string, Uint8Array, KeyObject, Buffer>(sign)
const verifyAsync = promisify<string, Uint8Array, KeyObject, Buffer, boolean>(verify)

async function readStored(folder: string): Promise<Stored[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = names.filter(name => /^rsa-[0-9a-f]{8}\.json$/.test(name))
  const stored = await Promise.all(
    files.map(async name => JSON.parse(await readFile(join(folder, name), 'utf8')) as Stored),
  )
  return stored.sort(
    (a, b) =>
      Number(a.retires_at !== undefined) - Number(b.retires_at !== undefined) || (a.created_at < b.created_at ? 1 : -1),
  )
}

const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString()
const fileOf = ({ key_name }: Pick<Stored, 'key_name'>): string => `rsa-${/[0-9a-f]{8}/.exec(key_name)?.[0] ?? ''}.json`

/** The RSA keys below one root. */
export function createApkKeys({ layout, box, clock }: ApkKeyDeps): ApkKeys {
  const lock = createKeyedLock()
  let loaded: Promise<readonly RsaKey[]> | undefined

  async function load(): Promise<readonly RsaKey[]> {
    return (await readStored(layout.keyring)).map((stored, n) => {
      const secret = createPrivateKey({ key: box.open(stored.sealed), format: 'der', type: 'pkcs8' })
      const open = createPublicKey(secret)
      const { key_name, created_at, retires_at } = stored
      const algorithm = `rsa${secret.asymmetricKeyDetails?.modulusLength ?? BITS}`
      const card = {
        key_name,
        public_key: pemOf(open),
        algorithm,
        created_at,
        role: n === 0 ? 'current' : 'previous',
        ...(retires_at === undefined ? {} : { retires_at }),
      } as const
      return { card, secret, open }
    })
  }

  async function active(): Promise<readonly RsaKey[]> {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    const now = clock.now().toISOString()
    return (await loaded).filter(({ card }) => card.retires_at === undefined || card.retires_at > now)
  }

  const store = (stored: Stored): Promise<void> =>
    writeAtomic(join(layout.keyring, fileOf(stored)), `${JSON.stringify(stored)}\n`, { mode: 0o600 })

  async function make(): Promise<Stored> {
    const { privateKey, publicKey } = await makePair('rsa', { modulusLength: BITS })
    const fingerprint = createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest('hex')
      .slice(0, 8)
    const stored = {
      key_name: `gatehouse-${fingerprint}.rsa.pub`,
      created_at: clock.now().toISOString(),
      sealed: box.seal(privateKey.export({ type: 'pkcs8', format: 'der' })),
    }
    await mkdir(layout.keyring, { recursive: true, mode: 0o700 })
    // first the file that clients fetch, then the key: nothing is signed by a key that clients cannot fetch
    await writeAtomic(join(layout.apkKeys, stored.key_name), pemOf(publicKey), { mode: 0o644 })
    await store(stored)
    loaded = undefined
    return stored
  }

  async function retirePrevious(current: Stored, overlapDays: number): Promise<void> {
    const now = clock.now()
    for (const stored of await readStored(layout.keyring)) {
      if (stored.key_name === current.key_name) continue
      if (stored.retires_at === undefined)
        await store({ ...stored, retires_at: new Date(now.getTime() + overlapDays * DAY_MS).toISOString() })
      else if (stored.retires_at <= now.toISOString()) {
        await rm(join(layout.keyring, fileOf(stored)), { force: true })
        await rm(join(layout.apkKeys, stored.key_name), { force: true })
      }
    }
  }

  /** The active keys; makes one where none of them stays. */
  async function needed(): Promise<readonly RsaKey[]> {
    const keys = await active()
    if (keys.some(({ card }) => card.role === 'current')) return keys
    return lock.run('rsa', async () => {
      if ((await active()).length === 0) await make()
      return active()
    })
  }

  return {
    known: async () => (await active()).map(({ card }) => card),
    cards: async () => (await needed()).map(({ card }) => card),
    rotate: overlapDays =>
      lock.run('rsa', async () => {
        if ((await active()).length === 0) return
        const made = await make()
        await retirePrevious(made, overlapDays)
        loaded = undefined
      }),
    reload: () => {
      loaded = undefined
    },
    async publish() {
      let isNew = false
      for (const { card } of await active()) {
        const path = join(layout.apkKeys, card.key_name)
        const there = await readFile(path, 'utf8').catch(() => undefined) // not there yet, or unreadable: written again
        if (there === card.public_key) continue
        await writeAtomic(path, card.public_key, { mode: 0o644 })
        isNew = true
      }
      return isNew
    },
    sign: async (bytes, hash) =>
      Promise.all(
        (await needed()).map(async ({ card, secret }) => ({
          keyName: card.key_name,
          hash,
          signature: await signAsync(hash, bytes, secret),
        })),
      ),
    async verify(bytes, { keyName, hash, signature }) {
      const key = (await active()).find(({ card }) => card.key_name === keyName)
      return key === undefined ? false : verifyAsync(hash, bytes, key.open, signature)
    },
  }
}
