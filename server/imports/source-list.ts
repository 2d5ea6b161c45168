import type { Codename, FormatId } from '../core/identity.ts'
import type { Queryable } from '../db/db.ts'
import type { Source } from './source.ts'

interface Row {
  readonly id: number
  readonly key: string
  readonly label: string
  readonly format: FormatId
  readonly kind: Source['kind']
  readonly urls: string[]
  readonly suite: string | null
  readonly components: string[]
  readonly archs: string[]
  readonly codenames: Codename[]
  readonly security: boolean
  readonly keys: string[]
  readonly signed: boolean
  readonly allow_expired: boolean
  readonly newest: number | null
  readonly enabled: boolean
  readonly builtin: boolean
  readonly retired: boolean
}

function sourceOf({ suite, allow_expired: allowExpired, newest, ...row }: Row): Source {
  return {
    ...row,
    allowExpired,
    ...(suite === null ? {} : { suite }),
    ...(newest === null ? {} : { newest }),
  }
}

/** Every source, also those that are switched off, by label. */
export async function listSources(db: Queryable): Promise<readonly Source[]> {
  const rows = await db.query<Row>(
    `select id, key, label, format, kind, urls, suite, components, archs, codenames, security, keys, signed,
      allow_expired, newest, enabled, builtin, retired
    from import_source order by label, key`,
  )
  return rows.map(sourceOf)
}

/** Whether a source takes part where nobody names it. @param switches  the setting `sources` */
export const isActive = ({ key, enabled, retired }: Source, switches: Readonly<Record<string, boolean>>): boolean =>
  enabled && !retired && switches[key] !== false

/** Whether somebody may see a source: one that is only for hidden distributions is hidden with them. */
export const isSeen = ({ codenames }: Pick<Source, 'codenames'>, hidden: readonly string[]): boolean =>
  codenames.length === 0 || codenames.some(codename => !hidden.includes(codename))
