import { findKnownVersion, findSpelling } from '../../catalog/queries/remote.ts'
import { fail } from '../../core/errors.ts'
import type { Codename } from '../../core/identity.ts'
import type { Db, Queryable, Tx } from '../../db/db.ts'
import type { By } from '../../files/definitions.ts'
import type { Format } from '../../formats/format.ts'
import { lockDistribution } from '../../db/distribution-lock.ts'
import type { Audit } from '../../record/audit.ts'

/** What a waiver is about. */
export interface WaiverOf {
  readonly codename: Codename
  readonly name: string
  readonly version: string
}

/** A version that a person lets through although its age or the policy hides it. */
export interface Waiver {
  readonly name: string
  readonly version: string
  readonly reason: string
  readonly given_by: string
  readonly given_at: Date
  readonly expires_at: Date
}

interface WaiverDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'owe'>
}

const DAY_MS = 86_400_000

/** Those of a registry, with those that have ended, newest first. */
export async function listWaivers(
  db: Queryable,
  codename: Codename,
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<{ readonly total: number; readonly waivers: readonly Waiver[] }> {
  const rows = await db.query<Waiver & { readonly total: number }>(
    `select name, version, reason, given_by, given_at, expires_at, count(*) over ()::int as total from registry_waiver
    where codename = $1 order by given_at desc, name, version limit $2 offset $3`,
    [codename, most, skip],
  )
  return { total: rows[0]?.total ?? 0, waivers: rows.map(({ total: _, ...one }) => one) }
}

/** Each format takes one of them. */
const ARCHS = ['any', 'sdist', 'index']

/** Why there is no such version in any registry of the format; undefined: there may be. */
function complain({ id, ...format }: Format, { name, version }: WaiverOf): string | undefined {
  const complaints = ARCHS.map(arch => format.complain({ format: id, name, version, arch }))
  return complaints.includes(undefined) ? undefined : complaints[0]
}

/**
 * Refuses a waiver that would let nothing through. A version that nobody asked for yet may have one.
 * @throws waiver_of_malicious; bad_registry where the version is none, or is written in another way at the upstream
 */
async function refuseUseless(tx: Tx, of: WaiverOf, format: Format): Promise<void> {
  const { name, version } = of
  const found = await findKnownVersion(tx, of)
  if (found?.is_malicious === true) fail('waiver_of_malicious', { name, version })
  if (found !== undefined) return
  const why = complain(format, of)
  if (why !== undefined) fail('bad_registry', { field: 'version', why })
  const other = await findSpelling(tx, { ...of, key: format.versionKey(version) })
  if (other !== undefined) fail('bad_registry', { field: 'version', why: `it is written ${other} there` })
}

/** What a waiver says beside what it is about. */
export interface WaiverGift {
  readonly reason: string
  readonly days: number
  readonly now: Date
  readonly by: By
}

/**
 * Lets a version through for some days, and writes who did it and why.
 * @throws waiver_of_malicious, bad_registry
 */
export async function giveWaiver(
  { db, audit }: WaiverDeps,
  of: WaiverOf & { readonly format: Format },
  { reason, days, now, by }: WaiverGift,
): Promise<Waiver> {
  const { codename, name, version, format } = of
  const waiver = {
    name,
    version,
    reason,
    given_by: by.name,
    given_at: now,
    expires_at: new Date(now.getTime() + days * DAY_MS),
  }
  await db.tx(async tx => {
    await lockDistribution(tx, codename)
    await refuseUseless(tx, of, format)
    await tx.query(
      `insert into registry_waiver (codename, name, version, reason, given_by, given_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict (codename, name, version) do update set reason = excluded.reason, given_by = excluded.given_by,
        given_at = excluded.given_at, expires_at = excluded.expires_at`,
      [codename, name, version, reason, by.name, now, waiver.expires_at],
    )
    await audit.owe(tx, {
      action: 'SECURITY_DECISION',
      result: 'SUCCESS',
      ...{ user: by.name, ip: by.ip, distribution: codename, package: name, version },
      facts: { kind: 'waiver.given', reason, until: waiver.expires_at.toISOString() },
    })
  })
  return waiver
}

/** Takes a waiver back. What came in with it stays as it is. @throws waiver_not_found */
export async function takeWaiver(
  { db, audit }: WaiverDeps,
  { codename, name, version }: WaiverOf,
  by: By,
): Promise<void> {
  await db.tx(async tx => {
    const gone = await tx.query(
      'delete from registry_waiver where codename = $1 and name = $2 and version = $3 returning 1 as one',
      [codename, name, version],
    )
    if (gone.length === 0) fail('waiver_not_found', { name, version, registry: codename })
    await audit.owe(tx, {
      action: 'SECURITY_DECISION',
      result: 'SUCCESS',
      ...{ user: by.name, ip: by.ip, distribution: codename, package: name, version },
      facts: { kind: 'waiver.taken' },
    })
  })
}
