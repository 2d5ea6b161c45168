import { listServedNeeds } from '../../catalog/queries/served-needs.ts'
import type { FormatId } from '../../core/identity.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { CatalogueOf, CatalogueScope, Listed } from './plan.ts'

/** What a name stands for in a distribution: it is published here, or a source lists it. */
export interface LookedUp {
  readonly isPublished: boolean
  /** The newest package of that name that a source lists, or one that provides it. */
  readonly upstream?: Listed & { readonly section: string | null }
}

/** Looks names up for machines of one architecture, in their order. */
export type LookUp = (of: CatalogueScope, names: readonly string[]) => Promise<readonly LookedUp[]>

export interface LookUpDeps {
  readonly db: Queryable
  readonly catalogue: Pick<CatalogueOf, 'rowsOf' | 'filesOf'>
  readonly formatOf: (id: FormatId) => Format
}

/** Asks what is published, and the catalogue. */
export function createLookUp({ db, catalogue, formatOf }: LookUpDeps): LookUp {
  async function sections(ids: readonly (number | string)[]): Promise<ReadonlyMap<number | string, string | null>> {
    const rows = await db.query<{ id: number; section: string | null }>(
      'select id, section from import_package where id = any($1::bigint[])',
      [ids],
    )
    return new Map(rows.map(({ id, section }) => [id, section]))
  }
  return async (of, names) => {
    const format = formatOf(of.format)
    const { codename } = of
    const served = await listServedNeeds(db, { format, codename, names })
    const here = new Set(served.flatMap(({ name, provides }) => [name, ...provides.map(one => one.name)]))
    const rowsOf = await catalogue.rowsOf(of)
    const rows = (await rowsOf(names)).toSorted((a, b) => format.compareVersions(b.version, a.version))
    const chosen = names.map(
      wanted =>
        rows.find(({ name }) => name === wanted) ??
        rows.find(({ relations }) => relations.provides?.some(({ name }) => name === wanted)),
    )
    const listed = await catalogue.filesOf(chosen.filter(one => one !== undefined))
    const byId = new Map(listed.map(one => [one.id, one]))
    const sectionOf = await sections(listed.map(({ id }) => id))
    return names.map((name, at) => {
      const found = byId.get(chosen[at]?.id ?? '')
      return {
        isPublished: here.has(name),
        ...(found === undefined ? {} : { upstream: { ...found, section: sectionOf.get(found.id) ?? null } }),
      }
    })
  }
}
