import type { Queryable, Tx } from '../../db/db.ts'

export interface Pin {
  readonly name: string
  readonly version: string
  readonly reason: string
  readonly by: string
  readonly at: Date
}

/** How many versions a distribution keeps, undefined where it keeps all. */
export async function readKeep(db: Queryable, codename: string): Promise<number | undefined> {
  return (await db.first<{ keep: number }>('select keep from retention where codename = $1', [codename]))?.keep
}

/** Sets the rule of a distribution; null takes it away. */
export async function saveKeep(tx: Queryable, codename: string, keep: number | null): Promise<void> {
  if (keep === null) await tx.query('delete from retention where codename = $1', [codename])
  else
    await tx.query(
      'insert into retention (codename, keep) values ($1, $2) on conflict (codename) do update set keep = $2',
      [codename, keep],
    )
}

/** Distributions that have a rule. */
export function listRules(db: Queryable): Promise<{ readonly codename: string; readonly keep: number }[]> {
  return db.query('select codename, keep from retention order by codename')
}

/** The versions of a distribution that no rule removes. */
export function listPins(db: Queryable, codename: string): Promise<Pin[]> {
  return db.query<Pin>('select name, version, reason, by, at from pin where codename = $1 order by name, version', [
    codename,
  ])
}

/** Pins a version; a pin that is there already is replaced. */
export async function savePin(tx: Queryable, codename: string, { name, version, reason, by, at }: Pin): Promise<void> {
  await tx.query(
    `insert into pin (codename, name, version, reason, by, at) values ($1, $2, $3, $4, $5, $6)
    on conflict (codename, name, version) do update set reason = $4, by = $5, at = $6`,
    [codename, name, version, reason, by, at],
  )
}

/** @returns false when there was none */
export async function deletePin(
  tx: Queryable,
  codename: string,
  { name, version }: Pick<Pin, 'name' | 'version'>,
): Promise<boolean> {
  return (
    (await tx.first('delete from pin where codename = $1 and name = $2 and version = $3 returning 1 as one', [
      codename,
      name,
      version,
    ])) !== undefined
  )
}

export interface Surplus {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly size: number
  readonly pinned: boolean
}

/** One version, however many architectures it has. */
export interface VersionOf {
  readonly codename: string
  readonly name: string
  readonly version: string
}

/**
 * Locks the version until the transaction ends, so that nobody deletes it meanwhile. @returns false where there is none
 */
export async function lockVersion(tx: Tx, { codename, name, version }: VersionOf): Promise<boolean> {
  return (
    (
      await tx.query(
        'select 1 as one from package where codename = $1 and name = $2 and version = $3 order by arch for update',
        [codename, name, version],
      )
    ).length > 0
  )
}

/** True while it is pinned, or among the newest `keep` published of its name and architecture. */
export async function isKept(
  tx: Tx,
  { codename, name, version, arch, keep }: VersionOf & { readonly arch: string; readonly keep: number },
): Promise<boolean> {
  const surplus = await tx.first(
    `
    select 1 as one from package p where codename = $1 and name = $2 and version = $3 and arch = $4
      and not exists (select 1 from pin where codename = $1 and name = $2 and version = $3)
      and (select count(*) from package o where o.codename = $1 and o.name = $2 and o.arch = $4 and o.state = 'published' and (o.sort_key, o.version collate "C") > (p.sort_key, p.version collate "C")) >= $5`,
    [codename, name, version, arch, keep],
  )
  return surplus === undefined
}

/**
 * Published versions beyond the newest `keep` of their name and architecture, by the format's own order. What is held,
 * quarantined or rejected is not counted and never among them.
 */
export function listSurplus(db: Queryable, codename: string, keep: number): Promise<Surplus[]> {
  return db.query<Surplus>(
    `
    select p.name, p.version, p.arch, p.size, pin.version is not null as pinned
    from (select name, version, arch, size, row_number() over (partition by name, arch order by sort_key desc, version collate "C" desc) as nth
          from package where codename = $1 and state = 'published') p
    left join pin on pin.codename = $1 and pin.name = p.name and pin.version = p.version
    where p.nth > $2 order by p.name, p.arch, p.nth`,
    [codename, keep],
  )
}
