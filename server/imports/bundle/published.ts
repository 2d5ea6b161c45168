import { listCarried, listNeeds, type NeedsRow } from '../../catalog/queries/carried.ts'
import { listCarriedWords, type CarriedWords } from '../../catalog/queries/carried-registries.ts'
import { listFileProviders, listProviders } from '../../catalog/queries/provides.ts'
import { isRegistry, type Distribution } from '../../core/repository.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import { machinesOf, meets } from '../../pipeline/machines.ts'
import { keyOfRow, type RefRow } from './manifest.ts'

/** A published version, as a bundle takes it. */
export interface Published {
  readonly id: number
  readonly ref: RefRow
  readonly component: string | null
  readonly files: readonly { readonly name: string; readonly sha256: string; readonly size: number }[]
  /** The digest of its first file as it came, and as clients get it. */
  readonly digests: readonly string[]
  /** Of a version of a registry. */
  readonly words?: CarriedWords
}

/** Everything that is published in these repositories, by codename and name, the newest version of each first. */
export async function listPublished({ db, distributionOf }: Known, codenames: readonly string[]): Promise<Published[]> {
  const registries = codenames.filter(codename => isRegistry(distributionOf(codename) ?? { kind: 'distribution' }))
  const rows = await listCarried(db, ALL_SEEING, codenames)
  const said = registries.length === 0 ? [] : await listCarriedWords(db, ALL_SEEING, registries)
  const words = new Map(said.map(one => [one.id, one]))
  const all = rows.map(({ id, format, codename, name, version, arch, component, files }): Published => {
    const about = words.get(id)
    return {
      id,
      ref: [format, codename, name, version, arch],
      component,
      files: files.map(({ path, blob }) => ({ name: path, sha256: blob.sha256, size: blob.size })),
      digests: [files[0].blob.sha256, files[0].signed?.received.sha256 ?? files[0].blob.sha256],
      ...(about === undefined ? {} : { words: about }),
    }
  })
  return all.filter(({ words: about }) => about?.is_hidden !== true)
}

/** What looks up distributions and formats. */
export interface Known {
  readonly db: Queryable
  readonly distributionOf: (codename: string) => Distribution | undefined
  readonly formatOf: (id: string) => Format
}

const AT_ONCE = 500

/** What published packages of one distribution offer under the names that these needs have. */
async function offersOf({ db }: Known, format: Format, codename: string, needs: readonly NeedsRow[]) {
  const names = [...new Set(needs.flatMap(({ depends }) => depends.flat().map(({ name }) => name)))]
  const rows = await listProviders(db, ALL_SEEING, { format, codename, names })
  const files = await listFileProviders(db, ALL_SEEING, { format: format.id, fileOf: format.fileOf, codename, names })
  const all = [
    ...rows.map(row => ({
      ref: [format.id, codename, row.name, row.version, row.provided_arch] as RefRow,
      state: row.state,
      offer: {
        name: row.provides,
        arch: row.provided_arch,
        reach: row.reach,
        ...(row.provided_version === null ? {} : { version: row.provided_version }),
      },
    })),
    ...files.map(row => ({
      ref: [format.id, codename, row.name, row.version, row.arch] as RefRow,
      state: row.state,
      offer: { name: row.provides, arch: row.arch },
    })),
  ].filter(({ state }) => state === 'published')
  return Map.groupBy(all, ({ offer }) => offer.name)
}

/** For each package a list per need, by its id: what meets it. */
export type Providers = ReadonlyMap<number, readonly (readonly RefRow[])[]>

/**
 * Which published packages of distributions meet the needs of these ones. Needs that nothing published meets are left
 * out: the distribution's own archive has them. Needs that it meets itself, too.
 */
export async function providersOf(
  known: Known,
  packages: readonly Published[],
  signal: AbortSignal,
): Promise<Providers> {
  const found = new Map<number, readonly (readonly RefRow[])[]>()
  const groups = Map.groupBy(packages, ({ ref: [format, codename] }) => `${format} ${codename}`)
  for (const group of groups.values())
    for (let from = 0; from < group.length; from += AT_ONCE) {
      signal.throwIfAborted()
      const part = group.slice(from, from + AT_ONCE)
      const [formatId, codename] = part[0]?.ref ?? ['', '']
      const distribution = known.distributionOf(codename)
      if (distribution === undefined || isRegistry(distribution)) continue
      const format = known.formatOf(formatId)
      const ids = part.map(({ id }) => id)
      const rows = await listNeeds(known.db, ALL_SEEING, ids)
      const offers = await offersOf(known, format, codename, rows)
      const refs = new Map(part.map(({ id, ref }) => [id, ref]))
      for (const { id, depends, kind } of rows) {
        const own = refs.get(id)
        if (own === undefined || kind === 'source') continue
        const machines = machinesOf(distribution, { arch: own[4], kind: kind ?? 'binary' }).map(machine =>
          meets(format, distribution, machine),
        )
        const lists = depends.map(need => {
          const all = need.flatMap(relation =>
            (offers.get(relation.name) ?? []).filter(({ offer }) => machines.some(isMet => isMet(offer, relation))),
          )
          return [...new Map(all.map(({ ref }) => [keyOfRow(ref), ref])).values()]
        })
        found.set(
          id,
          lists.filter(list => list.length > 0 && !list.some(ref => keyOfRow(ref) === keyOfRow(own))),
        )
      }
    }
  return found
}

const slot = ([format, codename, name, , arch]: RefRow): string => `${format} ${codename} ${name} ${arch}`

/** The newest version of each of these names. @param all  the newest of each name comes first */
export function newestOf(all: readonly Published[], names: readonly string[]): readonly Published[] {
  const newest = new Map<string, Published>()
  for (const one of all) if (names.includes(one.ref[2]) && !newest.has(slot(one.ref))) newest.set(slot(one.ref), one)
  return [...newest.values()]
}

/** These packages and everything published here that they need: of each that meets a need the newest version. */
export async function closureOf(
  known: Known,
  { all, roots }: { readonly all: readonly Published[]; readonly roots: readonly Published[] },
  signal: AbortSignal,
): Promise<readonly Published[]> {
  const byKey = new Map(all.map(one => [keyOfRow(one.ref), one]))
  const taken = new Map<string, Published>()
  let front = roots
  while (front.length > 0) {
    for (const one of front) taken.set(keyOfRow(one.ref), one)
    const providers = await providersOf(known, front, signal)
    const next = new Map<string, Published>()
    for (const lists of providers.values())
      for (const list of lists) {
        const newest = new Map<string, RefRow>()
        for (const ref of list) if (!newest.has(slot(ref))) newest.set(slot(ref), ref)
        for (const ref of newest.values()) {
          const one = byKey.get(keyOfRow(ref))
          if (one !== undefined && !taken.has(keyOfRow(ref))) next.set(keyOfRow(ref), one)
        }
      }
    front = [...next.values()]
  }
  return [...taken.values()]
}
