import { fail } from '../../core/errors.ts'
import type { Codename, FormatId, RelPath } from '../../core/identity.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { ALL_SEEING, type Viewer } from '../../core/viewer.ts'
import { listServedNeeds } from '../../catalog/queries/served-needs.ts'
import type { Db } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Settings } from '../../settings/store.ts'
import type { Candidate, Closure, Resolver } from '../resolve/closure.ts'
import { gather, type RowsOf } from '../resolve/prefetch.ts'
import type { Changed } from './changed.ts'
import { edgesOf } from './edges.ts'
import type { ImportPlan, ImportRequest } from './import-work.ts'
import type { Planned } from './planned.ts'

/** A package that a source lists, with where its file lies. */
export interface Listed extends Candidate {
  readonly sourceId: number
  readonly component?: string
  readonly path: RelPath
  readonly digests: Planned['digests']
  readonly controlSha1?: string
  /** The source package, where it has another name, and its version, where that is another. */
  readonly source?: string
  readonly sourceVersion?: string
}

/** What the sources of a distribution list. */
export interface CatalogueOf {
  /** Finds what its sources list, for machines of its architecture. */
  rowsOf(of: CatalogueScope): Promise<RowsOf>
  /** Where the files of these lie, in their order; without those that a synchronisation has just removed. */
  filesOf(chosen: readonly Candidate[]): Promise<readonly Listed[]>
  /** The names of the packages that a base set begins with, as far as the sources list them. */
  baseOf(of: CatalogueScope, base: Resolver['base']): Promise<readonly string[]>
  /** What is published under these names with other bytes than its sources list; one of them where a key is given. */
  changedOf(of: CatalogueScope, names: readonly string[], sourceKey?: string): Promise<readonly Changed[]>
  /** The codenames whose sources list a package of this name. */
  codenamesOf(name: string): Promise<readonly string[]>
  /** Whether the sources of the distribution were ever read: `others`, those of other distributions alone. */
  heldFor(codename: string | undefined): Promise<'nothing' | 'others' | 'some' | 'all'>
}

export interface CatalogueScope {
  readonly codename: Codename
  readonly format: FormatId
  readonly arch: string
}

export type BaseWord = 'none' | 'minbase' | 'upstream'

/** Where packages are imported to. */
export interface Target extends CatalogueScope {
  readonly state: Distribution['state']
}

/** What is to be resolved. */
export interface Wish {
  readonly packages: readonly { readonly name: string; readonly version?: string }[]
  readonly target: Target
  readonly recommends: boolean
  /** As the settings say where it is absent. */
  readonly base?: BaseWord | undefined
  /** The named packages come from this source alone. */
  readonly sourceKey?: string | undefined
}

/** What would come in. `needs` has for each package of the closure the places of those that it needs. */
export interface Resolution {
  readonly target: Target
  readonly base: BaseWord
  readonly closure: Closure
  readonly packages: readonly Listed[]
  readonly needs: readonly (readonly number[])[]
  /** Packages of the closure that are published here already. */
  readonly published: readonly Candidate[]
  /** Those of them that sources list with other bytes. They stay as they are. */
  readonly changed: readonly Changed[]
}

export interface Planner {
  /** @throws unknown_distribution, import_ambiguous, import_unknown, import_no_tree, wrong_arch, catalogue_empty */
  target(
    asked: { readonly name: string; readonly codename?: string | undefined; readonly arch?: string | undefined },
    viewer: Viewer,
  ): Promise<Target>
  /** @throws import_unknown, import_unknown_version: when no source has a package that is asked for by name */
  resolve(wish: Wish, signal: AbortSignal): Promise<Resolution>
  plan(request: ImportRequest, signal: AbortSignal): Promise<ImportPlan>
  readonly heldFor: CatalogueOf['heldFor']
}

export interface PlannerDeps {
  readonly db: Db
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly settings: Pick<Settings, 'now'>
  readonly catalogue: CatalogueOf
  readonly formatOf: (id: FormatId) => Format
  readonly resolverOf: (id: FormatId) => Resolver | undefined
}

const PUBLISHED = 'published:'
const printOf = ({ name, version, arch }: Pick<Candidate, 'name' | 'version' | 'arch'>): string =>
  `${name} ${version} ${arch}`
const isPublished = ({ id }: Candidate): boolean => typeof id === 'string' && id.startsWith(PUBLISHED)

/** Works out what an import brings. */
export function createPlanner(deps: PlannerDeps): Planner {
  const { db, repositories, settings, catalogue, formatOf, resolverOf } = deps

  async function codenameFor(name: string, viewer: Viewer): Promise<string> {
    if ((await catalogue.heldFor(undefined)) === 'nothing') fail('catalogue_empty', {})
    const seen = repositories.seenBy(viewer)
    const codenames = (await catalogue.codenamesOf(name)).filter(one => seen.find(one)?.state === 'active')
    const [only] = codenames
    if (only === undefined) return fail('import_unknown', { name, codename: 'any distribution' })
    return codenames.length === 1 ? only : fail('import_ambiguous', { name, codenames: codenames.join(', ') })
  }

  /** What is published here under these names, as candidates. */
  async function publishedOf({ codename, format }: CatalogueScope, names: readonly string[]): Promise<Candidate[]> {
    const rows = await listServedNeeds(db, {
      format: formatOf(format),
      codename,
      names,
    })
    return rows.map(({ id, name, version, arch, size, depends, provides, conflicts, reach }) => ({
      ...{ name, version, arch, size },
      id: `${PUBLISHED}${id}`,
      sourceKey: '',
      relations: { depends, provides, conflicts, ...(reach === undefined ? {} : { multi_arch: reach }) },
    }))
  }

  /** @throws import_unknown, import_unknown_version */
  function needKnown(closure: Closure, { target }: Wish, named: readonly Candidate[]): void {
    for (const { asked, package: found } of closure.roots) {
      if (found !== undefined) continue
      const { name, version } = asked
      const versions = [...new Set(named.filter(one => one.name === name).map(one => one.version))]
      if (version !== undefined && versions.length > 0)
        fail('import_unknown_version', {
          ...{ name, version, codename: target.codename },
          versions: versions.slice(0, 10).join(', '),
        })
      fail('import_unknown', { name, codename: target.codename })
    }
  }

  async function resolve(wish: Wish, signal: AbortSignal): Promise<Resolution> {
    const { target, packages, recommends, sourceKey } = wish
    const resolver = resolverOf(target.format) ?? fail('import_no_tree', { ...target })
    const base = wish.base ?? baseFor(settings.now().import, target.codename)
    const roots = packages.map(({ name }) => name)
    const rowsOf = await catalogue.rowsOf(target)
    async function upstream(names: readonly string[]): Promise<readonly Candidate[]> {
      signal.throwIfAborted()
      const found = await rowsOf(names)
      return sourceKey === undefined
        ? found
        : found.filter(one => !roots.includes(one.name) || one.sourceKey === sourceKey)
    }
    const seeds = base === 'minbase' ? await catalogue.baseOf(target, resolver.base) : []
    const baseRoots = seeds.map(name => ({ name }))
    const { universe, published } = await gather(
      { upstream, published: names => publishedOf(target, names) },
      { roots: [...packages, ...baseRoots], recommends },
      formatOf(target.format).compareVersions,
    )
    const { arch } = target
    // what the base packages need belongs to the base
    const assumed =
      seeds.length === 0
        ? []
        : resolver.resolve(universe, { roots: baseRoots, arch, base: [], published: [], recommends: false }).packages
    const closure = resolver.resolve(universe, {
      roots: packages,
      ...{ arch, published, recommends },
      base: assumed,
      ...(base === 'upstream' ? { onlyRoots: true as const } : {}),
    })
    const rows = roots.flatMap(name => universe.named(name))
    needKnown(closure, wish, rows)
    const coming = await catalogue.filesOf(closure.packages)
    return {
      ...{ target, base, closure },
      packages: coming,
      needs: edgesOf(coming, formatOf(target.format)),
      published: closure.assumed.filter(isPublished),
      changed: await changedAmong(closure.assumed.filter(isPublished), wish),
    }
  }

  /** What was asked for by name is compared with the source that it was asked from, the rest with all of them. */
  async function changedAmong(
    published: readonly Candidate[],
    { target, packages, sourceKey }: Wish,
  ): Promise<readonly Changed[]> {
    const ids = new Set(published.map(printOf))
    const isAsked = ({ name }: Pick<Candidate, 'name'>): boolean =>
      sourceKey !== undefined && packages.some(asked => asked.name === name)
    const names = (asked: boolean): string[] => [
      ...new Set(published.filter(one => isAsked(one) === asked).map(({ name }) => name)),
    ]
    const [own, others] = await Promise.all([
      names(true).length === 0 ? [] : catalogue.changedOf(target, names(true), sourceKey),
      names(false).length === 0 ? [] : catalogue.changedOf(target, names(false)),
    ])
    return [...own, ...others].filter(one => ids.has(printOf(one)))
  }

  return {
    async target({ name, codename, arch }, viewer) {
      const seen = repositories.seenBy(viewer)
      const distribution = seen.get(codename ?? (await codenameFor(name, viewer)))
      const { format, archs } = distribution
      if (resolverOf(format) === undefined) fail('import_no_tree', { codename: distribution.codename, format })
      const [first = ''] = archs
      if (arch !== undefined && !archs.includes(arch) && !distribution.neutral.includes(arch))
        fail('wrong_arch', { codename: distribution.codename, takes: archs.join(', '), is: arch })
      const held = await catalogue.heldFor(distribution.codename)
      if (held === 'nothing') fail('catalogue_empty', {})
      if (held === 'others') fail('distribution_not_synchronised', { codename: distribution.codename })
      const machine = arch === undefined || !archs.includes(arch) ? first : arch
      return { codename: distribution.codename, format, arch: machine, state: distribution.state }
    },
    resolve,
    heldFor: catalogue.heldFor,
    async plan(request, signal) {
      const { state, codename, format } = repositories.seenBy(ALL_SEEING).get(request.codename)
      const resolution = await resolve(
        {
          packages: request.packages,
          target: { state, codename, format, arch: request.arch },
          recommends: request.recommends,
          base: request.base,
          sourceKey: request.source_key,
        },
        signal,
      )
      const { closure } = resolution
      return {
        packages: plannedOf(format, resolution),
        unresolved: [
          ...closure.unresolved.map(({ needed_by: by, group, reason }) => `${by} needs ${group}: ${reason}`),
          ...closure.conflicts.map(
            one => `${one.package} and ${one.excluded_by} exclude each other (${one.relation}).`,
          ),
        ],
      }
    },
  }
}

/** The word of the settings for a distribution. */
function baseFor({ base, base_of: of }: { base: BaseWord; base_of: string }, codename: string): BaseWord {
  const own = of.split(/\s+/).find(one => one.startsWith(`${codename}=`))
  return (own?.slice(codename.length + 1) as BaseWord | undefined) ?? base
}

function plannedOf(
  format: FormatId,
  { closure, packages, needs, changed }: Pick<Resolution, 'closure' | 'packages' | 'needs' | 'changed'>,
): Planned[] {
  const roots = new Set(closure.roots.map(root => root.package?.id))
  const asked = new Set(closure.roots.flatMap(root => (root.package === undefined ? [] : [printOf(root.package)])))
  const staying = changed.map(({ name, version, arch, said, ...place }): Planned => ({
    ...place,
    identity: { format, name, version, arch },
    isRoot: asked.has(`${name} ${version} ${arch}`),
    needs: [],
    changed: said,
  }))
  const coming = packages.map((one, at): Planned => {
    const label = `${one.name} ${one.version}`
    const lacks = closure.unresolved.find(({ needed_by: by }) => by === label)
    return {
      identity: { format, name: one.name, version: one.version, arch: one.arch },
      sourceId: one.sourceId,
      sourceKey: one.sourceKey,
      ...(one.component === undefined ? {} : { component: one.component }),
      path: one.path,
      size: one.size,
      digests: one.digests,
      ...(one.controlSha1 === undefined ? {} : { controlSha1: one.controlSha1 }),
      isRoot: roots.has(one.id),
      needs: needs[at] ?? [],
      ...(lacks === undefined ? {} : { lacks: `It needs ${lacks.group}, and ${lacks.reason}` }),
    }
  })
  // behind the others, whose places are told by number
  return [...coming, ...staying]
}
