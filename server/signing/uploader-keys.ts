import { fail } from '../core/errors.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import {
  BadPublicKey,
  checkClearsigned,
  mustSign,
  readPublicKey,
  type PublicKey,
  type PublicKeyCard,
  type Signed,
} from './public-key.ts'

/** A developer's key, under the name that an admin gave it. */
export interface UploaderKey extends PublicKeyCard {
  readonly name: string
  /** Codenames it may upload to; null: all of them. */
  readonly distributions: readonly string[] | null
  readonly added_by: string
  readonly added_at: string
}

/** What a signature says about its maker. */
export type SignedBy = Exclude<Signed, { readonly kind: 'good' }> | { readonly kind: 'good'; readonly by: UploaderKey }

export interface NewUploaderKey {
  readonly name: string
  readonly publicKey: string
  readonly distributions: readonly string[] | undefined
  readonly by: string
}

/** The keys of people who upload with their own signature. */
export interface UploaderKeys {
  /** By name. */
  list(): Promise<readonly UploaderKey[]>
  /** @throws bad_uploader_key, uploader_key_exists */
  add(tx: Tx, key: NewUploaderKey): Promise<UploaderKey>
  /** @returns the removed key @throws uploader_key_not_found */
  remove(tx: Tx, name: string): Promise<UploaderKey>
  /** Who clear-signed a document; `text` is what its reader took out of it. */
  check(document: string, text: string): Promise<SignedBy>
}

interface Row {
  readonly name: string
  readonly fingerprint: string
  readonly public_key: string
  readonly distributions: readonly string[] | null
  readonly added_by: string
  readonly added_at: Date
}

const COLUMNS = 'name, fingerprint, public_key, distributions, added_by, added_at'

interface Known extends PublicKey {
  readonly shown: UploaderKey
}

async function read({ name, public_key: armored, distributions, added_by, added_at }: Row): Promise<Known> {
  const { key, card } = await readPublicKey(armored)
  return { key, card, shown: { name, ...card, distributions, added_by, added_at: added_at.toISOString() } }
}

/** Reads the keys from the database each time: they are few, and a removed one stops counting at once. */
export function createUploaderKeys({ db, clock }: { readonly db: Db; readonly clock: Clock }): UploaderKeys {
  const all = async (): Promise<readonly Known[]> =>
    Promise.all((await db.query<Row>(`select ${COLUMNS} from uploader_key order by name`)).map(read))

  return {
    list: async () => (await all()).map(({ shown }) => shown),
    async add(tx, { name, publicKey, distributions, by }) {
      const { key, card } = await readPublicKey(publicKey)
        .then(async read => {
          await mustSign(read, clock.now())
          return read
        })
        .catch((error: unknown) => {
          if (error instanceof BadPublicKey) return fail('bad_uploader_key', { why: error.why }, error)
          throw error
        })
      const known = await tx.first<{ name: string }>(
        'select name from uploader_key where name = $1 or fingerprint = $2',
        [name, card.fingerprint],
      )
      if (known !== undefined) fail('uploader_key_exists', { name: known.name, fingerprint: card.fingerprint })
      const row = await tx.first<Row>(
        `insert into uploader_key (${COLUMNS}) values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning ${COLUMNS}`,
        // written anew: around the key stood anything, perhaps a private one
        [name, card.fingerprint, key.armor(), distributions ?? null, by, clock.now()],
      )
      // somebody else added it meanwhile
      if (row === undefined) return fail('uploader_key_exists', { name, fingerprint: card.fingerprint })
      return (await read(row)).shown
    },
    async remove(tx, name) {
      const row =
        (await tx.first<Row>(`delete from uploader_key where name = $1 returning ${COLUMNS}`, [name])) ??
        fail('uploader_key_not_found', { name })
      return (await read(row)).shown
    },
    async check(document, text) {
      const keys = await all()
      const signed = await checkClearsigned(document, text, { keys, at: clock.now() })
      if (signed.kind !== 'good') return signed
      const by = keys.find(({ card }) => card.fingerprint === signed.fingerprint)?.shown
      if (by === undefined) throw new Error('a key that made a signature is not among those that were asked')
      return { kind: 'good', by }
    },
  }
}
