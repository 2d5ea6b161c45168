import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Queryable } from '../../db/db.ts'
import { codenamesIn, readManifest, readReceipt, type BundleManifest, type Receipt } from './manifest.ts'

/** SQL of the connected side: sites and what was made for them. */

const packed = promisify(gzip)
const unpacked = promisify(gunzip)

/** A site that gets bundles. */
export interface Site {
  readonly id: number
  readonly name: string
  readonly label: string
  readonly fingerprints: readonly string[]
  readonly key: string | null
  /** The highest number that was made for it; 0: none. */
  readonly last_number: number
  /** Of its last receipt: when it was made and read, and the highest number that it names. */
  readonly receipt_at: Date | null
  readonly receipt_read_at: Date | null
  readonly receipt_number: number
  readonly created_by: string
  readonly created_at: Date
}

const SITE = `id, name, label, fingerprints, key, last_number, receipt_at, receipt_read_at, receipt_number, created_by, created_at`

export const listSites = (db: Queryable): Promise<Site[]> =>
  db.query<Site>(`select ${SITE} from bundle_site order by name`)

export const findSite = (db: Queryable, name: string): Promise<Site | undefined> =>
  db.first<Site>(`select ${SITE} from bundle_site where name = $1`, [name])

/** @returns undefined where there is one of this name */
export function addSite(
  db: Queryable,
  {
    name,
    label,
    fingerprints,
    key,
    by,
  }: Pick<Site, 'name' | 'label' | 'fingerprints' | 'key'> & { readonly by: string },
): Promise<Site | undefined> {
  return db.first<Site>(
    `insert into bundle_site (name, label, fingerprints, key, created_by) values ($1, $2, $3, $4, $5)
    on conflict (name) do nothing returning ${SITE}`,
    [name, label, fingerprints, key, by],
  )
}

export async function changeSite(
  db: Queryable,
  name: string,
  { label, fingerprints, key }: Pick<Site, 'label' | 'fingerprints' | 'key'>,
): Promise<Site | undefined> {
  return db.first<Site>(
    `update bundle_site set label = $2, fingerprints = $3, key = $4 where name = $1 returning ${SITE}`,
    [name, label, fingerprints, key],
  )
}

/** Forgets a site with its bundles. @returns the names of their files */
export async function removeSite(db: Queryable, name: string): Promise<readonly string[]> {
  const rows = await db.query<{ name: string }>(
    `with gone as (delete from bundle_site where name = $1 returning id)
    select m.name from bundle_made m join gone on gone.id = m.site_id`,
    [name],
  )
  return rows.map(one => one.name)
}

/** The last receipt of a site; undefined before the first one. */
export async function readLastReceipt(db: Queryable, siteId: number): Promise<Receipt | undefined> {
  const row = await db.first<{ receipt: Buffer | null }>('select receipt from bundle_site where id = $1', [siteId])
  return row === undefined || row.receipt === null ? undefined : readReceipt(await unpacked(row.receipt))
}

/** Keeps a receipt, and what it says of each bundle. @returns false where a newer one was read meanwhile */
export async function keepReceipt(db: Queryable, siteId: number, receipt: Receipt, now: Date): Promise<boolean> {
  const rows = await db.query(
    `update bundle_site set receipt = $2, receipt_at = $3, receipt_read_at = $4, receipt_number = $5
    where id = $1 and (receipt_at is null or receipt_at <= $3) returning id`,
    [siteId, await packed(JSON.stringify(receipt)), receipt.created_at, now, receipt.number],
  )
  if (rows.length === 0) return false
  for (const { number, sha256, ...said } of receipt.bundles)
    await db.query('update bundle_made set receipt = $4 where site_id = $1 and number = $2 and sha256 = $3', [
      siteId,
      number,
      sha256,
      JSON.stringify({ ...said, receipt_at: receipt.created_at }),
    ])
  return true
}

/** A bundle that was made. */
export interface Made {
  readonly id: number
  readonly site: string
  readonly number: number
  readonly name: string
  /** Of the packages in it. */
  readonly codenames: readonly string[]
  readonly based_on: BundleManifest['based_on']
  readonly packages: number
  readonly data: readonly string[]
  readonly size: number
  readonly sha256: string
  readonly receipt: (Omit<Receipt['bundles'][number], 'number' | 'sha256'> & { readonly receipt_at: string }) | null
  readonly made_by: string
  readonly made_at: Date
  readonly removed_at: Date | null
}

const MADE = `m.id, s.name as site, m.number, m.name, m.codenames, m.based_on, m.packages, m.data, m.size, m.sha256, m.receipt, m.made_by,
  m.made_at, m.removed_at`

/** Those of distributions that are not hidden, newest first. */
export const listMade = (db: Queryable, hidden: readonly string[]): Promise<Made[]> =>
  db.query<Made>(
    `select ${MADE} from bundle_made m join bundle_site s on s.id = m.site_id where not m.codenames && $1::text[]
    order by m.made_at desc, m.id desc limit 500`,
    [hidden],
  )

export const findMade = (db: Queryable, id: number, hidden: readonly string[]): Promise<Made | undefined> =>
  db.first<Made>(
    `select ${MADE} from bundle_made m join bundle_site s on s.id = m.site_id where m.id = $1 and not m.codenames && $2::text[]`,
    [id, hidden],
  )

/** Keeps a new bundle and its number in one step. @returns its id; undefined where the number was given meanwhile */
export async function noteMade(
  db: Queryable,
  site: Pick<Site, 'id'>,
  made: {
    readonly manifest: BundleManifest
    readonly size: number
    readonly sha256: string
    readonly by: string
  },
): Promise<number | undefined> {
  const { manifest, size, sha256, by } = made
  const { number, name, based_on, packages, data, created_at } = manifest
  const row = await db.first<{ id: number }>(
    `with counted as (update bundle_site set last_number = $2 where id = $1 and last_number = $2 - 1 returning id)
    insert into bundle_made (site_id, number, name, codenames, based_on, packages, data, size, sha256, manifest, made_by, made_at)
    select id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 from counted returning id`,
    [
      site.id,
      number,
      name,
      codenamesIn(manifest),
      JSON.stringify(based_on),
      packages.length,
      [...new Set(data.map(({ kind }) => kind))],
      size,
      sha256,
      await packed(JSON.stringify(manifest)),
      by,
      created_at,
    ],
  )
  return row?.id
}

/** Whether each bundle after this number holds only packages of these distributions. */
export async function isWithin(
  db: Queryable,
  siteId: number,
  { after, codenames }: { readonly after: number; readonly codenames: readonly string[] },
): Promise<boolean> {
  const row = await db.first<{ number: number }>(
    'select number from bundle_made where site_id = $1 and number > $2 and not codenames <@ $3::text[] limit 1',
    [siteId, after, codenames],
  )
  return row === undefined
}

/** The lists of the bundles that came after this number. */
export async function readSent(db: Queryable, siteId: number, after: number): Promise<readonly BundleManifest[]> {
  const rows = await db.query<{ manifest: Buffer }>(
    'select manifest from bundle_made where site_id = $1 and number > $2 order by number',
    [siteId, after],
  )
  const lists: BundleManifest[] = []
  for (const { manifest } of rows) lists.push(readManifest(await unpacked(manifest)))
  return lists
}

export const noteRemoved = (db: Queryable, id: number, at: Date): Promise<unknown> =>
  db.query('update bundle_made set removed_at = $2 where id = $1', [id, at])
