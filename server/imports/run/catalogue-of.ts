import { relPath } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { getFormat } from '../../formats/index.ts'
import { candidatesIn } from '../catalogue/candidates.ts'
import type { Candidate } from '../resolve/closure.ts'
import type { Source } from '../source.ts'
import { listChanged } from './changed.ts'
import type { CatalogueOf, Listed } from './plan.ts'

interface Row {
  readonly id: number
  readonly source_id: number
  readonly component: string | null
  readonly path: string
  readonly sha256: string | null
  readonly sha512: string | null
  readonly control: string | null
  readonly source: string | null
  readonly source_version: string | null
}

const listed = (one: Candidate, row: Row): Listed => ({
  ...one,
  sourceId: row.source_id,
  ...(row.component === null ? {} : { component: row.component }),
  path: relPath(row.path),
  digests: {
    ...(row.sha256 === null ? {} : { sha256: row.sha256 }),
    ...(row.sha512 === null ? {} : { sha512: row.sha512 }),
  },
  ...(row.control === null ? {} : { controlSha1: row.control }),
  ...(row.source === null ? {} : { source: row.source }),
  ...(row.source_version === null ? {} : { sourceVersion: row.source_version }),
})

export interface CatalogueDeps {
  readonly db: Queryable
  readonly repositories: Pick<Repositories, 'seenBy'>
  /** Every source; those that are switched off are not `enabled`. */
  readonly listSources: () => Promise<readonly Source[]>
}

/** Reads what the sources of distributions list, for resolution. */
export function createCatalogueOf({ db, repositories, listSources }: CatalogueDeps): CatalogueOf {
  /** Security first: of equal versions it is taken from there. */
  async function sourcesOf(codename: string): Promise<readonly Source[]> {
    const all = (await listSources()).filter(
      ({ enabled, codenames }) => enabled && codenames.some(one => one === codename),
    )
    return [...all.filter(({ security }) => security), ...all.filter(({ security }) => !security)]
  }
  return {
    rowsOf: async ({ codename, arch }) => candidatesIn(db, { sources: await sourcesOf(codename), arch }),
    async filesOf(chosen) {
      const rows = await db.query<Row>(
        `
        select p.id, p.source_id, p.component, p.path, encode(p.sha256, 'hex') as sha256, encode(p.sha512, 'hex') as sha512,
          encode(p.control, 'hex') as control, p.source, p.source_version
        from import_package p where p.id = any($1::bigint[])`,
        [chosen.map(({ id }) => id)],
      )
      const byId = new Map(rows.map(row => [row.id, row]))
      return chosen.flatMap(one => {
        const row = byId.get(Number(one.id))
        return row === undefined ? [] : [listed(one, row)]
      })
    },
    async baseOf({ codename, arch }, { names, essential, priorities }) {
      const ids = (await sourcesOf(codename)).map(({ id }) => id)
      const { neutral } = repositories.seenBy(ALL_SEEING).get(codename)
      const rows = await db.query<{ name: string }>(
        `
        select distinct name from import_package
        where source_id = any($1::int[]) and arch = any($2::text[]) and not hidden and (name = any($3::text[])
          or ($4::boolean and relations @> '{"essential": true}') or relations->>'priority' = any($5::text[]))
        order by 1`,
        [ids, [arch, ...neutral], names, essential, priorities],
      )
      return rows.map(({ name }) => name)
    },
    async changedOf({ codename, format }, names, sourceKey) {
      const sources = (await sourcesOf(codename)).filter(({ key }) => sourceKey === undefined || key === sourceKey)
      return listChanged(db, { codename, format: getFormat(format), sources: sources.map(({ id }) => id), names })
    },
    async codenamesOf(name) {
      const rows = await db.query<{ id: number }>(
        'select distinct unnest(sources) as id from import_name where name = $1',
        [name],
      )
      const ids = new Set(rows.map(({ id }) => id))
      const listing = (await listSources()).filter(({ id, enabled }) => enabled && ids.has(id))
      return [...new Set(listing.flatMap(({ codenames }) => codenames))].sort()
    },
    async heldFor(codename) {
      const held = await db.query<{ source_id: number }>('select source_id from import_held')
      if (held.length === 0) return 'nothing'
      if (codename === undefined) return 'some'
      const ids = new Set(held.map(({ source_id: id }) => id))
      const own = await sourcesOf(codename)
      if (!own.some(({ id }) => ids.has(id))) return 'others'
      return own.every(({ id }) => ids.has(id)) ? 'all' : 'some'
    },
  }
}
