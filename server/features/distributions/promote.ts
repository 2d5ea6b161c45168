import { listHeld, type Held } from '../../catalog/queries/distributions.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Changed } from '../../catalog/change.ts'
import { AppError, fail, isRefusal } from '../../core/errors.ts'
import type { PackageRef } from '../../core/identity.ts'
import { mainOf, type Distribution, type SeenRepositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import { needHosted } from '../../registries/admit.ts'
import { compareDistributions, type Difference } from './compare.ts'

export interface PromoteDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'change'>
  readonly repositories: Pick<SeenRepositories, 'get'>
  /** Reads and judges what a package carries, where nobody has: it may then wait for review instead. */
  readonly readUnread: (ref: PackageRef) => Promise<void>
}

/** The caller, the source and the target. */
export interface Route {
  readonly from: string
  readonly to: string
  readonly by: string
  readonly ip: string
  readonly viewer: Viewer
  readonly dryRun: boolean
}

/** The version to copy: the given one, or the newest published one of the name. */
export interface Choice {
  readonly name: string
  readonly version?: string | undefined
  readonly arch?: string | undefined
}

export interface Promoted {
  /**
   * `promoted`; `unchanged` when the target has the same bytes; `pending` when its tree did not follow within 30
   * seconds; `dry_run`.
   */
  readonly status: 'promoted' | 'unchanged' | 'pending' | 'dry_run'
  readonly message: string
  readonly package: string
  readonly version: string
  readonly from: string
  readonly to: string
  readonly packages: readonly Difference[]
}

const SETTLE_MS = 30_000
const AT_ONCE = 8
export const printHeld = ({ name, version, arch }: Pick<Held, 'name' | 'version' | 'arch'>): string =>
  `${name} ${version} ${arch}`

export interface Road {
  readonly source: Distribution
  readonly target: Distribution
}

/** @throws unknown_distribution, same_distribution, other_format, signature_required, and what `needHosted` throws */
export function roadOf(
  { repositories }: Pick<PromoteDeps, 'repositories'>,
  { from, to }: Pick<Route, 'from' | 'to'>,
): Road {
  const [source, target] = [repositories.get(from), repositories.get(to)]
  if (source.codename === target.codename) fail('same_distribution', { codename: from })
  if (source.format !== target.format) fail('other_format', { from, to, has: source.format, takes: target.format })
  needHosted(target)
  if (target.registry?.requireSignature !== undefined) fail('signature_required', { name: target.codename })
  return { source, target }
}

/** What the choice means in the source. @throws package_not_found, version_not_found, not_promotable */
export async function choose(
  db: Db,
  viewer: Viewer,
  { codename, name, version, arch }: Choice & Pick<Distribution, 'codename'>,
): Promise<Held[]> {
  const all = await listHeld(db, viewer, {
    codename,
    names: [name],
    states: ['published', 'pending_review', 'quarantined', 'rejected'],
  })
  // the package may be in another distribution, so the message names this one
  if (all.length === 0) fail('package_not_found', { name: `${name} in ${codename}` })
  const wanted = all.filter(
    one => (version === undefined || one.version === version) && (arch === undefined || one.arch === arch),
  )
  const published = wanted.filter(one => one.state === 'published')
  const [newest] = published
  if (newest !== undefined) return published.filter(one => one.version === newest.version)
  const [held] = wanted
  if (held === undefined)
    return fail('version_not_found', {
      name: `${name} in ${codename}`,
      version: [version, arch === undefined ? undefined : `for ${arch}`].filter(Boolean).join(' '),
    })
  return fail('not_promotable', { ref: `${printHeld(held)} in ${codename}`, state: held.state })
}

export interface Copied {
  readonly held: Held
  readonly done: Changed | AppError
}

/**
 * Copies a few at a time; a refusal concerns its package alone. @throws the reason of `signal`, between two packages
 */
export async function copyAll(
  { catalog, readUnread }: Pick<PromoteDeps, 'catalog' | 'readUnread'>,
  held: readonly Held[],
  { source, target, by, ip }: Road & Pick<Route, 'by' | 'ip'>,
  signal?: AbortSignal,
): Promise<Copied[]> {
  const waiting = [...held]
  const copied: Copied[] = []
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        signal?.throwIfAborted()
        const { name, version, arch } = one
        const ref = ({ format, codename }: Distribution): PackageRef => ({ format, codename, name, version, arch })
        const change = {
          kind: 'copy',
          from: ref(source),
          to: ref(target),
          components: { from: mainOf(source), to: target.components },
        } as const
        const done = await readUnread(ref(source))
          .then(() => catalog.change(change, { name: by, ip }))
          .catch((error: unknown) => (isRefusal(error) ? error : Promise.reject(error as Error)))
        copied.push({ held: one, done })
      }
    }),
  )
  return copied
}

/** The last to be written is the last to be published: when it is there, all are. */
export async function settle(copied: readonly Copied[]): Promise<boolean> {
  const settled = await Promise.all(
    copied.flatMap(({ done }) => (done instanceof AppError ? [] : [done.settled(SETTLE_MS)])),
  )
  return settled.every(Boolean)
}

/** Publishes one package of a distribution in another one, too. @throws what `choose` and the catalogue refuse */
export async function promote(
  deps: PromoteDeps,
  choice: Choice,
  { from, to, by, ip, viewer, dryRun }: Route,
): Promise<Promoted> {
  const road = roadOf(deps, { from, to })
  const held = await choose(deps.db, viewer, { codename: road.source.codename, ...choice })
  const packages = await compareDistributions(deps.db, viewer, { from, to, source: held })
  const version = held[0]?.version ?? ''
  const about = { package: choice.name, version, from, to, packages }
  if (dryRun) {
    const standing = packages.map(one => `${one.standing} (${one.arch})`).join(', ')
    return {
      ...about,
      status: 'dry_run',
      message: `${choice.name} ${version} would be ${standing} in ${to}. Nothing was changed.`,
    }
  }
  const copied = await copyAll(deps, held, { ...road, by, ip })
  const refused = copied.find(({ done }) => done instanceof AppError)?.done
  if (refused instanceof AppError) throw refused
  if (packages.every(one => one.standing === 'same'))
    return {
      ...about,
      status: 'unchanged',
      message: `${to} has ${choice.name} ${version} already, with the same bytes.`,
    }
  const settled = await settle(copied)
  return settled
    ? { ...about, status: 'promoted', message: `${choice.name} ${version} is published in ${to}.` }
    : { ...about, status: 'pending', message: `${choice.name} ${version} is accepted in ${to}; its tree follows.` }
}
