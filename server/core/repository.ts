import { fail } from './errors.ts'
import type { Codename, FormatId } from './identity.ts'

/**
 * A repository with a signed tree, named by its codename. `archs[0]` is the architecture that client lines name where
 * only one fits; `components[0]` takes what names no component.
 */
export interface Distribution {
  readonly kind: 'distribution'
  readonly codename: Codename
  readonly format: FormatId
  /** What people call it: `Debian 12`. */
  readonly label: string
  /** Architectures whose index is published. */
  readonly archs: readonly string[]
  /** Architectures that belong into every index (`all`, `noarch`). */
  readonly neutral: readonly string[]
  /** Parts of the tree with indexes of their own. One, `main`, where the format knows no such thing. */
  readonly components: readonly string[]
  /** What the index says of itself, where its format has words for it. One line each. */
  readonly release: ReleaseWords
  /** `family:release`, what a vulnerability engine calls it; undefined: nobody knows its packages. */
  readonly scanner: string | undefined
  /** The distribution whose packages it belongs beside: scanner, label and defaults follow that one. */
  readonly basedOn?: Codename
  /** The last day of free security updates from its maker, `YYYY-MM-DD`; absent while none is set. */
  readonly endOfLife?: string
  /** A retired one takes no uploads and is still served. */
  readonly state: 'active' | 'retired'
  /** In the default set; others are an admin's own. */
  readonly builtin: boolean
}

/** The lines of a Release file that say whose packages these are. Source: Debian, wiki.debian.org/DebianRepository */
export interface ReleaseWords {
  readonly suite: string
  readonly origin: string
  readonly label: string
  readonly version?: string
  readonly description: string
}

/** What packages are kept in. Registries, which have no tree, will stand beside distributions. */
export type Repository = Distribution

/** The repositories of this server: the default set and an admin's own. */
export interface Repositories {
  /** In the order of every answer: the default set, then own ones by codename. */
  all(): readonly Distribution[]
  find(codename: string): Distribution | undefined
  /** @throws unknown_distribution, naming those of the default set: own ones may be hidden from who asks */
  get(codename: string): Distribution
  /** @throws distribution_not_found */
  need(codename: string): Distribution
  /** Takes the own ones, and the default ones as an admin changed them, in place of those before. */
  replace(changed: readonly Distribution[]): void
}

/** The index of one default set; what an admin added is given with `replace`. */
export function createRepositories(defaults: readonly Distribution[]): Repositories {
  let list = defaults
  let byCodename = new Map(list.map(one => [one.codename as string, one]))
  return {
    all: () => list,
    find: codename => byCodename.get(codename),
    get: codename =>
      byCodename.get(codename) ??
      fail('unknown_distribution', {
        codename: codename.slice(0, 80),
        known: defaults.map(one => one.codename).join(', '),
      }),
    need: codename => byCodename.get(codename) ?? fail('distribution_not_found', { codename: codename.slice(0, 80) }),
    replace: changed => {
      const own = new Map(changed.map(one => [one.codename as string, one]))
      const added = changed.filter(one => !defaults.some(({ codename }) => codename === one.codename))
      list = [
        ...defaults.map(one => own.get(one.codename) ?? one),
        ...added.toSorted((a, b) => (a.codename < b.codename ? -1 : 1)),
      ]
      byCodename = new Map(list.map(one => [one.codename as string, one]))
    },
  }
}

/** The component that takes what names none. */
export function mainOf({ components }: Pick<Distribution, 'components'>): string {
  return components[0] ?? 'main'
}

/** The architecture that a package of this one counts as, seen from a client: neutral ones as its own. */
export function nativeOf({ archs, neutral }: Pick<Distribution, 'archs' | 'neutral'>, arch: string): string {
  return neutral.includes(arch) ? (archs[0] ?? arch) : arch
}
