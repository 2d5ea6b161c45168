import { listFileProviders, listProviders, type Provider } from '../../catalog/queries/provides.ts'
import { findLatest, type NameFilter } from '../../catalog/queries/names.ts'
import type { IndexedManifest } from '../../catalog/queries/search.ts'
import type { Repositories } from '../../core/repository.ts'
import type { FormatId } from '../../core/identity.ts'
import { isServed, type State } from '../../core/manifest.ts'
import { printAlternatives, type Alternatives, type Offered, type Relation } from '../../core/relation.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import type { Format } from '../../formats/format.ts'
import type { Elsewhere, FindElsewhere } from '../../imports/run/elsewhere.ts'
import { machinesOf, meets, onBestMachine } from '../../pipeline/machines.ts'
import { refuseMissing } from './artifacts.ts'

/** `blocked`: only packages that are held, quarantined or rejected would satisfy it. */
export interface Dependency {
  readonly need: string
  readonly status: 'satisfied' | 'blocked' | 'missing'
  readonly by: { readonly name: string; readonly version: string; readonly status: State } | null
  /**
   * Of a missing one: whether the sources of the distribution list it. `unknown` while they were not all synchronised;
   * null where the need is not missing.
   */
  readonly upstream: Elsewhere | null
}

export interface Dependencies {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly all_satisfied: boolean
  readonly missing: readonly string[]
  /** True when the gate stopped the package itself or something it needs, or when nobody has what is missing. */
  readonly install_blocked: boolean
  readonly dependencies: readonly Dependency[]
}

function answer(
  need: Alternatives,
  offers: readonly Provider[],
  isMet: (have: Offered, need: Relation) => boolean,
): Dependency {
  const fits = offers.filter(({ provides: name, provided_version: version, provided_arch: arch, reach }) =>
    need.some(relation => isMet({ name, ...(version === null ? {} : { version }), arch, reach }, relation)),
  )
  const best = fits.find(offer => isServed(offer.state)) ?? fits[0]
  const status = best === undefined ? 'missing' : isServed(best.state) ? 'satisfied' : 'blocked'
  return {
    need: printAlternatives(need),
    status,
    by: best === undefined ? null : { name: best.name, version: best.version, status: best.state },
    upstream: null,
  }
}

/**
 * Looks each need up in what this repository offers in the same distribution. `missing` means: not here; `upstream`
 * says whether the distribution's own sources have it.
 * @throws package_not_found, version_not_found
 */
export async function resolveDependencies(
  {
    db,
    formats,
    repositories,
    findElsewhere,
  }: {
    readonly db: Queryable
    readonly formats: (id: FormatId) => Pick<Format, 'id' | 'satisfies' | 'multiArch' | 'fileOf'>
    readonly repositories: Pick<Repositories, 'get'>
    readonly findElsewhere: FindElsewhere
  },
  viewer: Viewer,
  filter: NameFilter,
): Promise<Dependencies> {
  const manifest: IndexedManifest = (await findLatest(db, viewer, filter)) ?? (await refuseMissing(db, viewer, filter))
  const { ref, about } = manifest
  const names = [...new Set(about.depends.flat().map(relation => relation.name))]
  const format = formats(ref.format)
  const distribution = repositories.get(ref.codename)
  const files = await listFileProviders(db, viewer, {
    format: ref.format,
    fileOf: format.fileOf,
    codename: ref.codename,
    names,
  })
  const offers: Provider[] = [
    ...(await listProviders(db, viewer, { format, codename: ref.codename, names })),
    ...files.map(({ arch, ...file }) => ({
      ...file,
      provided_version: null,
      provided_arch: arch,
      reach: undefined,
    })),
  ]
  // a package satisfies its own needs wherever it is
  const seen = offers.map(offer =>
    offer.name === ref.name && offer.version === ref.version ? { ...offer, state: 'published' as const } : offer,
  )
  const best = onBestMachine(machinesOf(distribution, { arch: ref.arch, kind: manifest.kind }), machine => {
    const isMet = meets(format, distribution, machine)
    const found = about.depends.map(need => ({ need, found: answer(need, seen, isMet) }))
    return {
      result: { machine, found },
      lacks: found.filter(one => one.found.status !== 'satisfied').length,
    }
  })
  const lacking = best.found.filter(one => one.found.status === 'missing')
  const elsewhere = await findElsewhere(
    { codename: ref.codename, arch: best.machine },
    lacking.map(({ need }) => need),
  )
  const dependencies = best.found.map(one => ({ ...one.found, upstream: elsewhere[lacking.indexOf(one)] ?? null }))
  return {
    name: ref.name,
    package: ref.name,
    version: ref.version,
    arch: ref.arch,
    distribution: ref.codename,
    all_satisfied: dependencies.every(({ status }) => status === 'satisfied'),
    missing: dependencies.filter(({ status }) => status === 'missing').map(({ need }) => need),
    install_blocked:
      !isServed(manifest.state) ||
      dependencies.some(({ status, upstream }) => status === 'blocked' || upstream === 'unlisted'),
    dependencies,
  }
}
