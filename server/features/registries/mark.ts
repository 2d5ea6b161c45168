import type { Catalog } from '../../catalog/catalog.ts'
import { listShortVersions } from '../../catalog/queries/registry.ts'
import type { Principal } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { MarkKind } from '../../core/mark.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { readReason } from './reason.ts'

export interface MarkDeps {
  readonly db: Queryable
  readonly catalog: Pick<Catalog, 'change'>
  readonly formats: readonly Format[]
}

/** A version in a registry, and who marks it. */
export interface MarkWish {
  readonly registry: Pick<Distribution, 'codename' | 'format'>
  readonly name: string
  readonly version: string
  readonly who: Pick<Principal, 'name'>
  readonly ip: string
  readonly viewer: Viewer
  /** The only word that will do; absent: the one of the format. */
  readonly kind?: MarkKind
}

/** No version has more files than a build for each platform. */
const MOST_FILES = 1_000

/**
 * Marks every file of a version, or takes the mark away; each change has its audit line.
 * @param reason  undefined takes the mark away
 * @throws bad_registry where clients of the format know no such mark; version_not_found
 */
export async function setMark(
  { db, catalog, formats }: MarkDeps,
  { registry: { codename, format }, name, version, who, ip, viewer, kind }: MarkWish,
  reason: string | undefined,
): Promise<void> {
  const rules = formats.find(({ id }) => id === format)
  const marking = rules?.marking
  if (marking === undefined || (kind !== undefined && kind !== marking.kind))
    return fail('bad_registry', {
      field: 'version',
      why: `clients of ${rules?.label ?? format} know no ${kind ?? 'marked'} versions`,
    })
  const said = reason === undefined ? undefined : readReason(reason)
  const files = await listShortVersions(db, viewer, { codename, format, names: [name], version, most: MOST_FILES })
  if (files.length === 0) fail('version_not_found', { name, version })
  for (const { arch } of files) {
    await catalog.change(
      {
        kind: 'review',
        ref: { format, codename, name, version, arch },
        judge: (before, at) => {
          const facts = marking.set(before.facts, said === undefined ? undefined : { reason: said, by: who.name, at })
          if (facts === before.facts) return undefined
          return {
            // documents about the name are kept until one of its versions changed
            after: { ...before, facts, changed_at: at },
            fact: {
              action: 'TAG',
              result: 'SUCCESS',
              facts: { kind: `package.${marking.kind}`, ...(said === undefined ? {} : { reason: said }) },
            },
          }
        },
      },
      { name: who.name, ip },
    )
  }
}
