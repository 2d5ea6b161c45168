import { fail } from '../core/errors.ts'
import type { Codename } from '../core/identity.ts'
import type { Db, Tx } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { Malformed } from '../lib/limited.ts'
import { readPemKey, type PemKey } from './cosign/pem-key.ts'

/** A public key whose signatures of images count, under the name that an admin gave it. */
export interface ImageKey {
  readonly name: string
  /** SHA-256 of the key, lower-case hex. */
  readonly fingerprint: string
  readonly algorithm: string
  /** Names of the registries that it counts in; null: all of them. */
  readonly registries: readonly string[] | null
  readonly added_by: string
  readonly added_at: string
}

export interface NewImageKey {
  readonly name: string
  readonly publicKey: string
  readonly registries: readonly string[] | undefined
  readonly by: string
}

/** A key with its name, to compare signatures with. */
export type NamedPemKey = PemKey & { readonly name: string }

/** The keys by which images are signed. */
export interface ImageKeys {
  /** By name. */
  list(): Promise<readonly ImageKey[]>
  /** @throws bad_image_key, image_key_exists */
  add(tx: Tx, key: NewImageKey): Promise<ImageKey>
  /** @returns the removed key @throws image_key_not_found */
  remove(tx: Tx, name: string): Promise<ImageKey>
  /** Those that count in a registry. */
  trustedIn(codename: Codename): Promise<readonly NamedPemKey[]>
}

interface Row {
  readonly name: string
  readonly fingerprint: string
  readonly public_key: string
  readonly registries: readonly string[] | null
  readonly added_by: string
  readonly added_at: Date
}

const COLUMNS = 'name, fingerprint, public_key, registries, added_by, added_at'

const shown = ({ public_key, added_at, ...row }: Row): ImageKey => ({
  ...row,
  algorithm: readPemKey(public_key).algorithm,
  added_at: added_at.toISOString(),
})

function readNew(publicKey: string): PemKey {
  try {
    return readPemKey(publicKey)
  } catch (error) {
    if (error instanceof Malformed) return fail('bad_image_key', { why: error.why }, error)
    throw error
  }
}

/** Reads the keys from the database each time: they are few, and a removed one stops counting at once. */
export function createImageKeys({ db, clock }: { readonly db: Db; readonly clock: Clock }): ImageKeys {
  return {
    list: async () => (await db.query<Row>(`select ${COLUMNS} from image_key order by name`)).map(shown),
    async add(tx, { name, publicKey, registries, by }) {
      const { fingerprint, pem } = readNew(publicKey)
      const known = await tx.first<{ name: string }>(
        'select name from image_key where name = $1 or fingerprint = $2 order by name limit 1',
        [name, fingerprint],
      )
      if (known !== undefined) fail('image_key_exists', { name: known.name, fingerprint })
      const row = await tx.first<Row>(
        `insert into image_key (${COLUMNS}) values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning ${COLUMNS}`,
        [name, fingerprint, pem, registries ?? null, by, clock.now()],
      )
      // somebody else added it meanwhile
      return row === undefined ? fail('image_key_exists', { name, fingerprint }) : shown(row)
    },
    async remove(tx, name) {
      const row =
        (await tx.first<Row>(`delete from image_key where name = $1 returning ${COLUMNS}`, [name])) ??
        fail('image_key_not_found', { name })
      return shown(row)
    },
    async trustedIn(codename) {
      const rows = await db.query<Row>(
        `select ${COLUMNS} from image_key where registries is null or $1 = any(registries) order by name`,
        [codename],
      )
      return rows.map(({ name, public_key }) => ({ name, ...readPemKey(public_key) }))
    },
  }
}
