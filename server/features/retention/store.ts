import type { Queryable } from '../../db/db.ts'

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
