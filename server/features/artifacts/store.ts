import type { FormatId, PackageRef } from '../../core/identity.ts'
import type { State } from '../../core/manifest.ts'
import type { NameFilter } from '../../catalog/search.ts'
import type { Queryable } from '../../db/db.ts'

/** One name that a package offers; `provided_version` null for an unversioned virtual name. */
export interface Offer {
  readonly provides: string
  readonly provided_version: string | null
  /** Of the package that offers it. */
  readonly provided_arch: string
  readonly name: string
  readonly version: string
  readonly state: State
}

/** Everything in one distribution that offers one of these names; the newest first. */
export function listOffers(
  db: Queryable,
  {
    format,
    codename,
    names,
  }: { readonly format: FormatId; readonly codename: string; readonly names: readonly string[] },
): Promise<Offer[]> {
  return db.query<Offer>(
    `
    select o.provides, o.version as provided_version, p.arch as provided_arch, p.name, p.version, p.state
    from package_offer o join package p on p.id = o.package_id
    where o.provides = any($1::text[]) and p.codename = $2 and p.format = $3
    order by p.sort_key desc, p.id`,
    [names, codename, format],
  )
}

/** The versions that a deletion selects, oldest first: if it is interrupted, the newest remain. */
export function listRefs(db: Queryable, filter: NameFilter): Promise<PackageRef[]> {
  return db.query<PackageRef>(
    `
    select format, codename, name, version, arch from package
    where name = $1 and ($2::text is null or version = $2) and ($3::text is null or codename = $3) and ($4::text is null or arch = $4)
    order by sort_key, codename, arch`,
    [filter.name, filter.version ?? null, filter.distribution ?? null, filter.arch ?? null],
  )
}
