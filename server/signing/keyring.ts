import { chmod, mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as openpgp from 'openpgp'
import { fail } from '../core/errors.ts'
import type { Layout } from '../files/layout.ts'
import { writeAtomic } from '../lib/atomic.ts'
import type { Clock } from '../lib/clock.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import type { SecretBox } from '../lib/secret-box.ts'
import { createApkKeys } from './apk-key.ts'
import { algorithmOf, createSigner, fingerprintOf, generateKey, publicBlock, type SigningKey } from './openpgp.ts'
import { readSigningKey } from './import-key.ts'
import type { KeyCard, Keyring, Signer } from './signer.ts'

/**
 * The keys on disk: `keyring/<fingerprint>.json`, mode 0600, the secret part encrypted; folder 0700. `current` is the
 * newest that does not retire; the others sign beside it until `retires_at`.
 */
interface Stored {
  readonly fingerprint: string
  readonly created_at: string
  readonly retires_at?: string
  readonly sealed: string
}

export interface KeyringDeps {
  readonly layout: Pick<Layout, 'keyring' | 'publicKey' | 'apkKeys'>
  readonly box: SecretBox
  readonly clock: Clock
}

const DAY_MS = 86_400_000

async function readStored(folder: string): Promise<Stored[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = names.filter(name => /^[0-9A-F]{40,64}\.json$/.test(name))
  const stored = await Promise.all(
    files.map(async name => JSON.parse(await readFile(join(folder, name), 'utf8')) as Stored),
  )
  // the key without an end is the current one; then the most recent first
  return stored.sort(
    (a, b) =>
      Number(a.retires_at !== undefined) - Number(b.retires_at !== undefined) || (a.created_at < b.created_at ? 1 : -1),
  )
}

async function cardOf(stored: Stored, key: openpgp.PrivateKey, role: KeyCard['role']): Promise<KeyCard> {
  const end = await key.getExpirationTime()
  return {
    fingerprint: stored.fingerprint,
    user_id: key.getUserIDs()[0] ?? '',
    algorithm: algorithmOf(key),
    created_at: stored.created_at,
    role,
    ...(stored.retires_at === undefined ? {} : { retires_at: stored.retires_at }),
    ...(end instanceof Date ? { expires_at: end.toISOString() } : {}),
  }
}

/** What concerns its files. */
export interface KeyringFiles {
  /** Writes `gpg.key` from the keyring; true when it was different. */
  publish(): Promise<boolean>
  /** Reads the keys again at the next use: another process has changed them. */
  reload(): void
}

/** The keyring of this machine. `publish` writes `gpg.key` from the keyring; true when it was different. */
export function createKeyring({ layout, box, clock }: KeyringDeps): Keyring & KeyringFiles {
  const lock = createKeyedLock()
  const rsa = createApkKeys({ layout, box, clock })
  const listeners: (() => void)[] = []
  let loaded: Promise<readonly SigningKey[]> | undefined

  async function load(): Promise<readonly SigningKey[]> {
    const keys: SigningKey[] = []
    for (const stored of await readStored(layout.keyring)) {
      const key = await openpgp.readPrivateKey({ binaryKey: box.open(stored.sealed) })
      keys.push({ key, card: await cardOf(stored, key, keys.length === 0 ? 'current' : 'previous') })
    }
    return keys
  }

  async function active(): Promise<readonly SigningKey[]> {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    const now = clock.now().toISOString()
    const keys = await loaded
    // another process may have made the first one in this moment
    if (keys.length === 0) loaded = undefined
    return keys.filter(({ card }) => card.retires_at === undefined || card.retires_at > now)
  }

  async function needed(): Promise<readonly SigningKey[]> {
    const keys = await active()
    return keys.some(({ card }) => card.role === 'current') ? keys : fail('no_signing_key', {})
  }

  const store = (stored: Stored): Promise<void> =>
    writeAtomic(join(layout.keyring, `${stored.fingerprint}.json`), `${JSON.stringify(stored)}\n`, { mode: 0o600 })

  async function retirePrevious(current: string, overlapDays: number): Promise<void> {
    const now = clock.now()
    for (const stored of await readStored(layout.keyring)) {
      if (stored.fingerprint === current) continue
      if (stored.retires_at === undefined)
        await store({ ...stored, retires_at: new Date(now.getTime() + overlapDays * DAY_MS).toISOString() })
      else if (stored.retires_at <= now.toISOString())
        await rm(join(layout.keyring, `${stored.fingerprint}.json`), { force: true })
    }
  }

  async function publish(): Promise<boolean> {
    const rsaIsNew = await rsa.publish()
    const keys = await active()
    if (keys.length === 0) return rsaIsNew
    const block = publicBlock(
      keys.map(({ key }) => key),
      'armored',
    )
    const there = await readFile(layout.publicKey).catch(() => undefined) // not there yet, or unreadable: written again
    if (there?.equals(block) === true) return rsaIsNew
    await writeAtomic(layout.publicKey, block, { mode: 0o644 })
    return true
  }

  /** Puts a key in use; the others go on beside it for the overlap. */
  const add = (
    { overlapDays, first = false }: { readonly overlapDays: number; readonly first?: boolean },
    get: (at: Date) => Promise<openpgp.PrivateKey>,
  ): Promise<KeyCard> =>
    lock.run('keyring', async () => {
      const refuse = async (fits: (fingerprint: string) => boolean): Promise<void> => {
        loaded = undefined
        const there = (await active()).find(({ card }) => fits(card.fingerprint))
        if (there !== undefined) fail('signing_key_exists', { fingerprint: there.card.fingerprint })
      }
      if (first) await refuse(() => true)
      await mkdir(layout.keyring, { recursive: true, mode: 0o700 })
      await chmod(layout.keyring, 0o700)
      const at = new Date(Math.floor(clock.now().getTime() / 1000) * 1000)
      const key = await get(at)
      await refuse(fingerprint => fingerprint === fingerprintOf(key))
      const stored: Stored = {
        fingerprint: fingerprintOf(key),
        created_at: at.toISOString(),
        sealed: box.seal(key.write()),
      }
      // first add, then retire: after a crash in between both keys sign, and the next rotation retires the older one
      await store(stored)
      // before the others retire, so that the previous key also ends with them and everything is signed again
      await rsa.rotate(overlapDays)
      await retirePrevious(stored.fingerprint, overlapDays)
      loaded = undefined
      await publish()
      for (const listener of listeners) listener()
      return cardOf(stored, key, 'current')
    })

  let cached: { readonly of: string; readonly signer: Signer } | undefined
  return {
    async signer() {
      const keys = await needed()
      const of = keys.map(({ card }) => card.fingerprint).join()
      if (cached?.of !== of)
        cached = {
          of,
          signer: {
            ...createSigner(keys, () => clock.now()),
            rsaKeys: rsa.cards,
            signRsa: rsa.sign,
            verifyRsa: rsa.verify,
          },
        }
      return cached.signer
    },
    keys: async () => (await active()).map(({ card }) => card),
    rsaKeys: rsa.known,
    reload: () => {
      loaded = undefined
      rsa.reload()
    },
    publish,
    generate: options => add(options, at => generateKey({ ...options, at })),
    take: options => add(options, at => readSigningKey(options, at)),
    publicKey: async form =>
      publicBlock(
        (await needed()).map(({ key }) => key),
        form,
      ),
    onChange: listener => {
      listeners.push(listener)
    },
  }
}
