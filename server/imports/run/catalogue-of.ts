import { relPath } from '../../core/identity.ts'
import type { Repositories } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { candidatesIn } from '../catalogue/candidates.ts'
import type { Candidate } from '../resolve/closure.ts'
import type { Source } from '../source.ts'
import type { CatalogueOf, Listed } from './plan.ts'

interface Row {
  readonly id: number
  readonly source_id: number
  readonly component: string | null
  readonly path: string
  readonly sha256: string | null
  readonly sha512: string | null
  readonly control: string | null
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
})

// $1 codename
const SOURCES = `select id, format from import_source where enabled and $1 = any(codenames) order by security desc, id`

/** Reads what the sources of distributions list, for resolution. */
export function createCatalogueOf(db: Queryable, repositories: Pick<Repositories, 'seenBy'>): CatalogueOf {
  const sourcesOf = (codename: string): Promise<Pick<Source, 'id' | 'format'>[]> => db.query(SOURCES, [codename])
  return {
    rowsOf: async ({ codename, arch }) => candidatesIn(db, { sources: await sourcesOf(codename), arch }),
    async filesOf(chosen) {
      const rows = await db.query<Row>(
        `
        select p.id, p.source_id, p.component, p.path, encode(p.sha256, 'hex') as sha256, encode(p.sha512, 'hex') as sha512,
          encode(p.control, 'hex') as control
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
      const rows = await db.query<{ name: string }>(
        `
        select distinct p.name from import_package p join (${SOURCES}) s on s.id = p.source_id
        where p.arch = any($2::text[]) and not p.hidden and (p.name = any($3::text[])
          or ($4::boolean and p.relations @> '{"essential": true}') or p.relations->>'priority' = any($5::text[]))
        order by 1`,
        [codename, [arch, ...repositories.seenBy(ALL_SEEING).get(codename).neutral], names, essential, priorities],
      )
      return rows.map(({ name }) => name)
    },
    async codenamesOf(name) {
      const rows = await db.query<{ codename: string }>(
        `
        select distinct unnest(s.codenames) as codename from import_source s
        where s.enabled and s.id = any(select unnest(sources) from import_name where name = $1) order by 1`,
        [name],
      )
      return rows.map(({ codename }) => codename)
    },
    async heldFor(codename) {
      const row = await db.first<{ any: boolean; here: boolean }>(
        `
        select exists (select from import_held) as any, exists (select from import_held h join import_source s on s.id = h.source_id
          where s.enabled and ($1::text is null or $1 = any(s.codenames))) as here`,
        [codename ?? null],
      )
      return row?.any !== true ? 'nothing' : row.here ? 'some' : 'others'
    },
  }
}
