import type { Action } from '../../core/action.ts'
import type { Candidate } from '../../imports/resolve/closure.ts'
import type { Forecast, Forecasts } from '../../imports/run/forecast.ts'
import type { Resolution } from '../../imports/run/plan.ts'
import type { ResolvedPackage, ResolveReply } from './contract.ts'

const short = ({ name, version, arch }: Pick<Candidate, 'name' | 'version' | 'arch'>) => ({ name, version, arch })

const forecastView = (one: Forecast | undefined): ResolvedPackage['forecast'] =>
  one === undefined ? null : { ...one, worst: one.worst ?? null }

/** The answer to a resolution: first what would come in, each after what it needs, then what is here already. */
export function resolveReply(
  name: string,
  { target, base, closure, packages, needs, published, changed }: Resolution,
  forecasts: Forecasts,
): ResolveReply {
  const roots = new Map(closure.roots.flatMap(({ asked, package: found }) => (found ? [[found.id, asked]] : [])))
  const virtual = (one: Candidate): Pick<ResolvedPackage, 'virtual'> => {
    const asked = roots.get(one.id)?.name
    return asked === undefined || asked === one.name ? {} : { virtual: asked }
  }
  const coming = packages.map((one, at): ResolvedPackage => ({
    ...short(one),
    size: one.size,
    source: one.sourceKey,
    component: one.component ?? null,
    already_in_repo: false,
    is_root: roots.has(one.id),
    needs: [...(needs[at] ?? [])],
    forecast: forecastView(forecasts.packages[at]),
    ...virtual(one),
  }))
  const here = published.map((one): ResolvedPackage => ({
    ...short(one),
    size: one.size,
    source: '',
    component: null,
    already_in_repo: true,
    is_root: roots.has(one.id),
    needs: [],
    forecast: null,
    ...virtual(one),
  }))
  const all = [...coming, ...here]
  const foreseen = (action: Action): number => coming.filter(one => one.forecast?.action === action).length
  return {
    success: true,
    package: name,
    distribution: target.codename,
    arch: target.arch,
    base,
    total_deps: all.filter(({ is_root: isRoot }) => !isRoot).length,
    already_in_repo: here.length,
    to_download: coming.length,
    download_bytes: coming.reduce((sum, { size }) => sum + size, 0),
    packages: all,
    forecast: {
      coverage: forecasts.coverage,
      message: forecasts.said,
      review: foreseen('review'),
      block: foreseen('block'),
    },
    assumed: closure.assumed.filter(one => !published.includes(one)).map(short),
    unresolved: closure.unresolved.map(one => ({ ...one })),
    conflicts: closure.conflicts.map(one => ({ ...one })),
    upstream_changed: changed.map(({ sourceKey, said, ...one }) => ({
      ...short(one),
      source: sourceKey,
      is_root: here.some(other => other.is_root && other.name === one.name && other.arch === one.arch),
      message: said,
    })),
  }
}
