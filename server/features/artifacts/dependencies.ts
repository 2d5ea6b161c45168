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
import { machinesOf, meets, onBestMachine } from '../../pipeline/machines.ts'
import { refuseMissing } from './artifacts.ts'

/** `blocked`: only packages that are held, quarantined or rejected would satisfy it. */
export interface Dependency {
  readonly need: string
  readonly status: 'satisfied' | 'blocked' | 'missing'
  readonly by: { readonly name: string; readonly version: string; readonly status: State } | null
}

export interface Dependencies {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly arch: string
  readonly distribution: string
  readonly all_satisfied: boolean
  readonly missing: readonly string[]
  /** True when the gate stopped the package itself or something it needs. */
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
  }
}

/**
 * Looks each need up in what this repository offers in the same distribution. The distribution's own archive is not
 * known here, so `missing` means: not here.
 * @throws package_not_found, version_not_found
 */
export async function resolveDependencies(
  {
    db,
    formats,
    repositories,
  }: {
    readonly db: Queryable
    readonly formats: (id: FormatId) => Pick<Format, 'id' | 'satisfies' | 'multiArch' | 'fileOf'>
    readonly repositories: Pick<Repositories, 'get'>
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
  const dependencies = onBestMachine(machinesOf(distribution, { arch: ref.arch, kind: manifest.kind }), machine => {
    const isMet = meets(format, distribution, machine)
    const result = about.depends.map(need => answer(need, seen, isMet))
    return { result, lacks: result.filter(({ status }) => status !== 'satisfied').length }
  })
  return {
    name: ref.name,
    package: ref.name,
    version: ref.version,
    arch: ref.arch,
    distribution: ref.codename,
    all_satisfied: dependencies.every(({ status }) => status === 'satisfied'),
    missing: dependencies.filter(({ status }) => status === 'missing').map(({ need }) => need),
    install_blocked: !isServed(manifest.state) || dependencies.some(({ status }) => status === 'blocked'),
    dependencies,
  }
}
