import type { PackageKind, State } from '../../core/manifest.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { conditions, containing, params, seenBy } from './sql.ts'

/** What the database knows of one distribution. */
export interface DistributionRow {
  readonly codename: string
  readonly description: string | null
  readonly initialized: boolean
  readonly published: number
  readonly pending: number
  readonly quarantined: number
  readonly generation: number | null
  readonly published_at: Date | null
}

/** One row per distribution that was set up, has packages or was published. */
export function listDistributionRows(db: Queryable, viewer: Viewer): Promise<DistributionRow[]> {
  const { values, add } = params()
  return db.query<DistributionRow>(
    `
    select codename, d.description, d.codename is not null as initialized,
           coalesce(p.published, 0) as published, coalesce(p.pending, 0) as pending, coalesce(p.quarantined, 0) as quarantined,
           g.n as generation, g.made_at as published_at
    from distribution d
    full join (select codename, count(*) filter (where state = 'published') as published, count(*) filter (where state = 'pending_review') as pending,
                      count(*) filter (where state = 'quarantined') as quarantined from package group by codename) p using (codename)
    full join (select distinct on (codename) codename, n, made_at from generation order by codename, n desc) g using (codename)
    where ${seenBy(viewer, add, 'codename')}`,
    values,
  )
}

/** How many packages there are of an architecture in a component; null is the first one of the distribution. */
export interface PartCount {
  readonly kind: PackageKind
  readonly arch: string
  readonly component: string | null
  readonly packages: number
}

/** The packages of a distribution by kind, architecture and component, in whatever state. */
export function countParts(db: Queryable, viewer: Viewer, codename: string): Promise<PartCount[]> {
  const { values, add } = params(codename)
  return db.query<PartCount>(
    `select kind, arch, component, count(*)::int as packages from package
    where codename = $1 and ${seenBy(viewer, add, 'codename')} group by kind, arch, component order by arch, component, kind`,
    values,
  )
}

/** A published package of a distribution, as promotion and comparison see it. */
export interface Held {
  readonly name: string
  readonly version: string
  readonly arch: string
  readonly sort_key: string
  readonly sha256: string
  readonly state: State
}

/** Packages of a distribution by name, newest version first. @param names undefined means all */
export function listHeld(
  db: Queryable,
  viewer: Viewer,
  {
    codename,
    names,
    states,
  }: { readonly codename: string; readonly names?: readonly string[]; readonly states: readonly State[] },
): Promise<Held[]> {
  const { values, add } = params(codename, states, names ?? null)
  return db.query<Held>(
    `
    select name, version, arch, sort_key, sha256, state from package
    where codename = $1 and state = any($2) and ($3::text[] is null or name = any($3)) and ${seenBy(viewer, add, 'codename')}
    order by name, sort_key desc, arch`,
    values,
  )
}

/** Every package of a distribution by name, newest version first, without opening a manifest. */
export function listNamesIn(
  db: Queryable,
  viewer: Viewer,
  {
    codename,
    state,
    kind,
    q = '',
  }: {
    readonly codename: string
    readonly state: State
    readonly kind?: PackageKind | undefined
    readonly q?: string | undefined
  },
): Promise<{ readonly name: string; readonly version: string; readonly arch: string }[]> {
  const is = conditions()
  is.seenBy(viewer, 'p.codename')
  is.when(codename, place => `p.codename = ${place}`)
  is.when(state, place => `p.state = ${place}`)
  is.when(kind, place => `p.kind = ${place}`)
  is.when(
    q.trim() === '' ? undefined : containing(q.trim().toLowerCase()),
    place => `lower(p.name || ' ' || p.summary) like ${place}`,
  )
  return db.query(
    `select p.name, p.version, p.arch from package p ${is.where()} order by p.name, p.sort_key desc, p.arch, p.id`,
    is.values,
  )
}
