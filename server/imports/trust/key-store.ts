import { createPublicKey } from 'node:crypto'
import type { Key } from 'openpgp'
import { fail } from '../../core/errors.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { readKeys, trustKeys, type TrustedKeys } from '../../signing/trusted-keys.ts'
import type { Source } from '../source.ts'
import vendorKeys from './vendor-keys.json' with { type: 'json' }
import { VENDOR_KEYS, type ImportKeyKind } from './vendors.ts'

/** A key that repositories of others are trusted by. */
export interface ImportKey {
  /** Fingerprint of the primary key in upper case; APK: the file name of the key. */
  readonly name: string
  readonly kind: ImportKeyKind
  readonly label: string
  /** Armoured, or PEM. */
  readonly text: string
  readonly expiresAt?: Date
  readonly builtin: boolean
  /** Until then it counts although it has expired. */
  readonly acceptedUntil?: Date
  readonly addedBy?: string
  readonly addedAt: Date
}

export interface NewKeys {
  /** Armoured blocks, one or many, or one RSA key in PEM. */
  readonly text: string
  readonly label?: string | undefined
  /** The file name of an RSA key. */
  readonly keyName?: string | undefined
  readonly by: string
}

/** The keys of repositories of others. */
export interface KeyStore {
  list(): Promise<readonly ImportKey[]>
  /** @throws import_key_not_found */
  get(tx: Queryable, name: string): Promise<ImportKey>
  /**
   * Adds every key of a file; of one that is known, its newer statements. A key counts for a source only once that
   * source names it. @throws bad_import_key
   */
  add(tx: Tx, keys: NewKeys): Promise<readonly ImportKey[]>
  /** Stops trusting it at once, whatever source names it. @throws import_key_not_found */
  remove(tx: Tx, name: string): Promise<ImportKey>
  /** Accepts a key past its end until a day; undefined: no longer. @throws import_key_not_found */
  accept(tx: Tx, name: string, until: Date | undefined): Promise<ImportKey>
  /** Writes the keys that come with the product: new ones, and newer copies. Those that an admin took out stay out. */
  settle(): Promise<void>
  /** The keys that a source names, and no others. */
  keysFor(source: Pick<Source, 'keys'>): Promise<TrustedKeys>
}

interface Row {
  readonly name: string
  readonly kind: ImportKeyKind
  readonly label: string
  readonly text: string
  readonly expires_at: Date | null
  readonly builtin: boolean
  readonly removed: boolean
  readonly accepted_until: Date | null
  readonly added_by: string | null
  readonly added_at: Date
}

const COLUMNS = 'name, kind, label, text, expires_at, builtin, removed, accepted_until, added_by, added_at'

const shown = (row: Row): ImportKey => ({
  name: row.name,
  kind: row.kind,
  label: row.label,
  text: row.text,
  builtin: row.builtin,
  addedAt: row.added_at,
  ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  ...(row.accepted_until === null ? {} : { acceptedUntil: row.accepted_until }),
  ...(row.added_by === null ? {} : { addedBy: row.added_by }),
})

/** A key as it is written. */
interface Written {
  readonly name: string
  readonly kind: ImportKeyKind
  readonly label: string
  readonly text: string
  readonly expiresAt: Date | undefined
}

async function writtenOf(key: Key, label?: string): Promise<Written> {
  const end = await key.getExpirationTime().catch(() => null)
  return {
    name: key.getFingerprint().toUpperCase(),
    kind: 'openpgp',
    label: label ?? key.getUserIDs()[0] ?? key.getFingerprint().toUpperCase(),
    text: key.toPublic().armor(),
    expiresAt: end instanceof Date ? end : undefined,
  }
}

const MAX_KEYS = 50
const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9@._+-]{0,120}\.rsa\.pub$/

/** @throws bad_import_key */
async function readNew({ text, label, keyName }: NewKeys): Promise<Written[]> {
  if (/-----BEGIN (RSA )?PUBLIC KEY-----/.test(text)) {
    if (keyName === undefined || !KEY_NAME.test(keyName))
      return fail('bad_import_key', {
        why: 'an RSA key needs the file name that packages name it by, such as vendor@example-1.rsa.pub, as key_name',
      })
    try {
      const pem = createPublicKey(text).export({ type: 'spki', format: 'pem' }).toString()
      return [{ name: keyName, kind: 'rsa', label: label ?? keyName, text: pem, expiresAt: undefined }]
    } catch (error) {
      return fail('bad_import_key', { why: 'its PEM cannot be read' }, error)
    }
  }
  const keys = await readKeys([text])
  if (keys.length === 0)
    fail('bad_import_key', { why: 'no armoured OpenPGP key can be read in it; gpg --armor --export writes one' })
  if (keys.length > MAX_KEYS) fail('bad_import_key', { why: `it holds more than ${MAX_KEYS} keys` })
  return Promise.all(keys.map(key => writtenOf(key, keys.length === 1 ? label : undefined)))
}

/** One key out of two copies of it. */
async function merge(text: string, other: string): Promise<Written | undefined> {
  const [key] = await readKeys([text, other])
  return key === undefined ? undefined : writtenOf(key)
}

async function find(tx: Queryable, name: string): Promise<Row | undefined> {
  return tx.first<Row>(`select ${COLUMNS} from import_key where name = $1`, [name])
}

async function write(tx: Tx, key: Written, given: { readonly builtin: boolean; readonly by?: string }): Promise<void> {
  await tx.query(
    `insert into import_key (name, kind, label, text, expires_at, builtin, added_by) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (name) do update set text = excluded.text, expires_at = excluded.expires_at,
       builtin = import_key.builtin or excluded.builtin, removed = false`,
    [key.name, key.kind, key.label, key.text, key.expiresAt ?? null, given.builtin, given.by ?? null],
  )
}

/** What comes with the product, as it is written. */
async function readVendors(): Promise<Written[]> {
  const texts = new Map(vendorKeys.keys.map(({ name, text }) => [name, text]))
  return Promise.all(
    Object.values(VENDOR_KEYS).map(async ({ name, kind, label }) => {
      const text = texts.get(name) ?? ''
      if (kind === 'rsa') return { name, kind, label, text, expiresAt: undefined }
      const [key] = await readKeys([text])
      if (key === undefined) throw new Error(`vendor-keys.json has no readable key ${name}`)
      return { ...(await writtenOf(key, label)), text }
    }),
  )
}

/** Reads the keys from the database each time: they are few, and a removed one stops counting at once. */
export function createKeyStore({ db, clock }: { readonly db: Db; readonly clock: Clock }): KeyStore {
  async function get(tx: Queryable, name: string): Promise<ImportKey> {
    const row = await find(tx, name)
    return row === undefined || row.removed ? fail('import_key_not_found', { name }) : shown(row)
  }

  return {
    get,
    async list() {
      const rows = await db.query<Row>(`select ${COLUMNS} from import_key where not removed order by label, name`)
      return rows.map(shown)
    },
    async add(tx, keys) {
      const added: ImportKey[] = []
      for (const key of await readNew(keys)) {
        const known = await find(tx, key.name)
        const whole = known?.kind === 'openpgp' ? await merge(known.text, key.text) : undefined
        await write(tx, { ...key, ...whole, label: key.label }, { builtin: false, by: keys.by })
        added.push(await get(tx, key.name))
      }
      return added
    },
    async remove(tx, name) {
      const key = await get(tx, name)
      // one that comes with the product would come back at the next start
      await tx.query(
        key.builtin ? 'update import_key set removed = true where name = $1' : 'delete from import_key where name = $1',
        [name],
      )
      return key
    },
    async accept(tx, name, until) {
      await get(tx, name)
      await tx.query('update import_key set accepted_until = $2 where name = $1', [name, until ?? null])
      return get(tx, name)
    },
    async settle() {
      const vendors = await readVendors()
      await db.tx(async tx => {
        for (const key of vendors) {
          const known = await find(tx, key.name)
          if (known?.removed === true || (known?.builtin === true && known.text === key.text)) continue
          const whole = known?.kind === 'openpgp' ? await merge(known.text, key.text) : undefined
          const { text, expiresAt } = whole ?? key
          if (known?.builtin === true && known.text === text) continue
          await write(tx, { ...key, text, expiresAt }, { builtin: true })
        }
      })
    },
    async keysFor({ keys }) {
      const rows = await db.query<Row>(`select ${COLUMNS} from import_key where name = any($1) and not removed`, [keys])
      const of = (kind: ImportKeyKind): Row[] => rows.filter(row => row.kind === kind)
      const accepted = rows.filter(row => row.accepted_until !== null && row.accepted_until > clock.now())
      return trustKeys({
        openpgp: of('openpgp').map(({ text }) => text),
        rsa: new Map(of('rsa').map(({ name, text }) => [name, text])),
        now: () => clock.now(),
        endless: new Set(accepted.map(({ name }) => name)),
      })
    },
  }
}
