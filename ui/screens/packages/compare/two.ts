import type { PackageDetail, Reply } from '../../../wire.ts'

/** Which two versions a route is asked about. */
export interface Two {
  readonly params: { readonly name: string; readonly version: string }
  readonly query: {
    readonly distribution: string
    readonly arch: string
    readonly with: string
    readonly with_distribution: string
    readonly with_arch: string
  }
}

type Compared = Reply<'GET /artifacts/{name}/{version}/compare'>

/** Where a version lies. */
export type Place = Pick<PackageDetail, 'version' | 'distribution' | 'arch'>
export const keyOf = ({ version, distribution, arch }: Place): string => JSON.stringify([version, distribution, arch])

/** What a version is compared with when nobody chose: the newest other one that clients see, first of its own place. */
export function other(one: PackageDetail, others: readonly PackageDetail[]): PackageDetail | undefined {
  const near = others.filter(it => it.distribution === one.distribution && it.arch === one.arch)
  return near.find(it => it.status === 'published') ?? near[0] ?? others[0]
}

/** What the address says of a version; a part may be missing. */
interface Asked {
  readonly version: string
  readonly distribution: string | undefined
  readonly arch: string | undefined
}

/** What the address names in part is filled in; whether there is such a version, the server says. */
export function placeOf(
  { version, distribution, arch }: Asked,
  one: PackageDetail,
  others: readonly PackageDetail[],
): Place {
  const named = others.filter(
    it =>
      it.version === version &&
      (distribution === undefined || it.distribution === distribution) &&
      (arch === undefined || it.arch === arch),
  )
  return other(one, named) ?? { version, distribution: distribution ?? one.distribution, arch: arch ?? one.arch }
}

/** Components in the lists of `Differences`; one in another version stands in both. */
export function componentsOf({ added, removed, changed }: NonNullable<Compared['components']>): {
  readonly added: readonly string[]
  readonly removed: readonly string[]
} {
  const named = (purl: string, versions: readonly string[]): string[] => versions.map(version => `${purl}@${version}`)
  return {
    added: [...changed.flatMap(it => named(it.purl, it.after)), ...added].sort(),
    removed: [...changed.flatMap(it => named(it.purl, it.before)), ...removed].sort(),
  }
}

/** What installing does, in the lists of `Differences`. */
export function installingOf({ scripts, facts, hosts, listens }: NonNullable<Compared['install']>): {
  readonly added: readonly string[]
  readonly removed: readonly string[]
} {
  const told = (which: 'added' | 'removed'): string[] => [
    ...scripts[which],
    ...facts[which].map(it => it.said),
    ...hosts[which].map(host => `Contacts ${host}`),
    ...listens[which].map(where => `Listens on ${where}`),
  ]
  return { added: told('added'), removed: told('removed') }
}
