import type { Handlers } from '../../core/contract.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { Codename, FormatId } from '../../core/identity.ts'
import { listServedNeeds } from '../../catalog/queries/served-needs.ts'
import { edgesOf } from '../../imports/run/edges.ts'
import { deleteGroup, listGroups, listOwnPackages, type Group } from '../../imports/run/groups.ts'
import { removable } from '../../imports/run/removable.ts'
import { GROUP_NAME, type GroupView, type imports } from './contract.ts'
import type { ImportRouteDeps } from './deps.ts'

function viewOf({ name, codename, asked, created_by: by, created_at: at, packages }: Group): GroupView {
  const counts: Record<string, number> = {}
  for (const { state } of packages) counts[state] = (counts[state] ?? 0) + 1
  return {
    name,
    distribution: codename,
    asked: [...asked],
    created_by: by,
    imported_at: at.toISOString(),
    package_count: packages.length,
    total_size_bytes: packages.reduce((sum, { size }) => sum + size, 0),
    counts,
    packages: packages.map(({ filename, size, name: of, version, arch, source, is_root, state, why }) => ({
      ...{ filename, version, arch, source, is_root, why },
      size_bytes: size,
      name: of,
      status: state,
    })),
  }
}

const label = ({ name, version, arch }: { name: string; version: string; arch: string }): string =>
  `${name} ${version} (${arch})`

/** What may go with a group, and why the rest stays. */
async function partOf({ db, formatOf }: ImportRouteDeps, group: Group) {
  const own = await listOwnPackages(db, group.id)
  const [first] = own
  const kept: { package: string; why: string }[] = []
  if (first === undefined) return { going: [], kept }
  const format = formatOf(first.format as FormatId)
  const served = await listServedNeeds(db, { format, codename: group.codename })
  const nodes = served.map(one => ({ ...one, relations: { depends: one.depends, provides: one.provides } }))
  const keyOf = ({ name, version, arch }: { name: string; version: string; arch: string }): string =>
    [name, version, arch].join(' ')
  const places = new Map(served.map((one, at) => [keyOf(one), at]))
  const wanted = new Set(own.flatMap(one => places.get(keyOf(one)) ?? []))
  const { stays } = removable(edgesOf(nodes, format), wanted)
  const going = own.filter(one => {
    const at = places.get(keyOf(one))
    const by = at === undefined ? undefined : stays.get(at)
    const needing = by === undefined ? undefined : served[by]
    if (needing !== undefined) kept.push({ package: label(one), why: `${label(needing)} needs it.` })
    return needing === undefined
  })
  return { going, kept }
}

/** Groups of imported packages. */
export const groupHandlers: Pick<
  Handlers<typeof imports, ImportRouteDeps>,
  'GET /import/groups' | 'DELETE /import/groups/{name}'
> = {
  'GET /import/groups': async ({ db }, { viewer }) => ({ groups: (await listGroups(db, viewer)).map(viewOf) }),
  'DELETE /import/groups/{name}': async (deps, { params: { name }, query, who, viewer, raw }) => {
    if (!GROUP_NAME.test(name))
      fail('bad_request', { said: 'The name of a group has letters, digits, `_`, `.`, `-` and `+` only.' })
    const [group] = await listGroups(deps.db, viewer, name)
    if (group === undefined) return fail('import_group_not_found', { group: name })
    const { going, kept } = query.packages === true ? await partOf(deps, group) : { going: [], kept: [] }
    const actor = { name: who.name, ip: raw.clientIp }
    for (const { format, codename, ...identity } of going)
      await deps.catalog
        .change(
          {
            kind: 'delete',
            ref: { ...identity, format: format as FormatId, codename: codename as Codename },
            why: `the import group ${name} was removed`,
          },
          actor,
        )
        // somebody else removed it a moment ago
        .catch((error: unknown) => (isRefusal(error, 'version_not_found') ? undefined : Promise.reject(error as Error)))
    await deps.db.tx(tx => deleteGroup(tx, group.id))
    await deps.audit.record({
      action: 'IMPORT_GROUP_DELETE',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      distribution: group.codename,
      facts: { kind: 'import.group_deleted', group: name, removed: going.length, kept: kept.length },
    })
    return { deleted: name, removed: going.map(label), kept }
  },
}
