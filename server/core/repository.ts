import { fail } from './errors.ts'
import type { Codename, FormatId } from './identity.ts'
import type { RegistryRules } from './registry.ts'
import { maySee, seesAll, type Viewer } from './viewer.ts'

/**
 * A repository, named by its codename: a distribution, which has a signed tree, or a registry, whose clients ask for
 * each name. `archs[0]` is the architecture in client lines that can name only one; `components[0]` takes packages that
 * name no component. A registry has no architectures, the component `main` and no scanner.
 */
export interface Distribution {
  readonly kind: 'distribution' | 'registry'
  /** Set where `kind` is `registry`. */
  readonly registry?: RegistryRules
  readonly codename: Codename
  readonly format: FormatId
  /** Its name for people: `Debian 12`. */
  readonly label: string
  /** Architectures whose index is published. */
  readonly archs: readonly string[]
  /** Architectures that belong into every index (`all`, `noarch`). */
  readonly neutral: readonly string[]
  /** Parts of the tree with indexes of their own. One, `main`, where the format knows no such thing. */
  readonly components: readonly string[]
  /** Lines of the Release file, where the format has one. */
  readonly release: ReleaseWords
  /** `family:release`, its name for vulnerability engines; undefined: its packages are not scanned. */
  readonly scanner: string | undefined
  /** The distribution that it extends: scanner, label and defaults follow that one. */
  readonly basedOn?: Codename
  /** The last day of free security updates from its maker, `YYYY-MM-DD`; absent while none is set. */
  readonly endOfLife?: string
  /** A retired distribution is served but takes no uploads. */
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

/**
 * The repositories as somebody sees them: a hidden one is like one that never was. Distributions and registries alike;
 * what is about signed trees asks `trees`, where a registry is like one that never was.
 */
export interface SeenRepositories {
  /** In the order of every answer: the default set, then own ones by codename. */
  all(): readonly Distribution[]
  find(codename: string): Distribution | undefined
  /** For a codename in a query or body. @throws unknown_distribution, naming those that are seen */
  get(codename: string): Distribution
  /** For a codename in a path. @throws distribution_not_found */
  need(codename: string): Distribution
  /** Those whose clients ask for each name. */
  registries(): readonly Distribution[]
  /** The same without registries. */
  readonly trees: SeenRepositories
}

/** All repositories of this server: the default set and an admin's own. */
export interface Repositories extends SeenRepositories {
  /** Every route looks repositories up here. */
  seenBy(viewer: Viewer): SeenRepositories
  /** The same without registries: parts that are about trees are made with it. */
  readonly trees: Repositories
  /** Replaces the own distributions, registries, and the changes to default distributions. */
  replace(changed: readonly Distribution[]): void
  /** Called after `replace`. */
  onReplaced(listener: () => void): void
}

/** Whether clients of a repository ask for each name. */
export const isRegistry = ({ kind }: Pick<Distribution, 'kind'>): boolean => kind === 'registry'

type All = SeenRepositories['all']
type Find = SeenRepositories['find']

function lookup(all: All, find: Find): Omit<SeenRepositories, 'trees'> {
  return {
    all,
    find,
    get: codename =>
      find(codename) ??
      fail('unknown_distribution', {
        codename: codename.slice(0, 80),
        known: all()
          .map(one => one.codename)
          .join(', '),
      }),
    need: codename => find(codename) ?? fail('distribution_not_found', { codename: codename.slice(0, 80) }),
    registries: () => all().filter(isRegistry),
  }
}

function seen(all: All, find: Find): SeenRepositories {
  const distributions: All = () => all().filter(one => !isRegistry(one))
  const trees: SeenRepositories = {
    ...lookup(distributions, codename => {
      const one = find(codename)
      return one === undefined || isRegistry(one) ? undefined : one
    }),
    get trees() {
      return trees
    },
  }
  return { ...lookup(all, find), trees }
}

/** The repositories of one default set; `replace` adds an admin's own. */
export function createRepositories(defaults: readonly Distribution[]): Repositories {
  const listeners: (() => void)[] = []
  let list = defaults
  let byCodename = new Map(list.map(one => [one.codename as string, one]))
  const whole = seen(
    () => list,
    codename => byCodename.get(codename),
  )
  const seenBy: Repositories['seenBy'] = viewer =>
    seesAll(viewer)
      ? whole
      : seen(
          () => list.filter(one => maySee(viewer, one.codename)),
          codename => (maySee(viewer, codename) ? byCodename.get(codename) : undefined),
        )
  const changes: Pick<Repositories, 'replace' | 'onReplaced'> = {
    replace: changed => {
      const own = new Map(changed.map(one => [one.codename as string, one]))
      const added = changed.filter(one => !defaults.some(({ codename }) => codename === one.codename))
      list = [
        ...defaults.map(one => own.get(one.codename) ?? one),
        ...added.toSorted((a, b) => (a.codename < b.codename ? -1 : 1)),
      ]
      byCodename = new Map(list.map(one => [one.codename as string, one]))
      for (const listener of listeners) listener()
    },
    onReplaced: listener => {
      listeners.push(listener)
    },
  }
  const trees: Repositories = {
    ...whole.trees,
    ...changes,
    seenBy: viewer => seenBy(viewer).trees,
    get trees() {
      return trees
    },
  }
  return { ...whole, ...changes, seenBy, trees }
}

/** A part's dependencies with the repositories that the viewer sees. */
export function asSeenBy<Deps extends { readonly repositories: Pick<Repositories, 'seenBy'> }>(
  deps: Deps,
  viewer: Viewer,
): Omit<Deps, 'repositories'> & { readonly repositories: SeenRepositories } {
  return { ...deps, repositories: deps.repositories.seenBy(viewer) }
}

/** The component for packages that name none. */
export function mainOf({ components }: Pick<Distribution, 'components'>): string {
  return components[0] ?? 'main'
}
