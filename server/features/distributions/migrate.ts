import { listHeld, type Held } from '../../catalog/queries/distributions.ts'
import { AppError } from '../../core/errors.ts'
import { asSeenBy, type Repositories } from '../../core/repository.ts'
import type { Jobs, Run, WorkKind } from '../../core/work.ts'
import { answerOf } from '../../work/answer.ts'
import { compareDistributions, summarise, type Difference, type Summary } from './compare.ts'
import { copyAll, printHeld, roadOf, settle, type Copied, type PromoteDeps, type Route } from './promote.ts'

export interface Migrated {
  /** `partial` when there are errors beside packages that went. */
  readonly status: 'ok' | 'partial' | 'failed' | 'pending' | 'dry_run'
  readonly message: string
  readonly from: string
  readonly to: string
  /** How many packages are new in the target, and with them their manifests. */
  readonly migrated: number
  readonly manifests_updated: number
  readonly unchanged: number
  /** The names that went, or with `dry_run` would go. */
  readonly packages: readonly string[]
  readonly differences: readonly Difference[]
  readonly errors: readonly { readonly package: string; readonly error: string }[]
  readonly difference: Summary
}

export interface MigrateDeps extends Omit<PromoteDeps, 'repositories'> {
  readonly repositories: Pick<Repositories, 'seenBy'>
}

interface Request extends Omit<Route, 'dryRun' | 'by'> {
  /** Absent: all that the source serves. */
  readonly names?: readonly string[]
}

/** What was copied so far, and behind which package to go on. */
interface Cursor {
  readonly after: string
  readonly went: readonly string[]
  readonly migrated: number
  readonly unchanged: number
  readonly errors: Migrated['errors']
}

type Copies = Omit<Cursor, 'after'> & { readonly settled: boolean }

const KIND = 'migrate'
const BATCH = 100

/** What the source serves, in an order that stays the same for a run that goes on later. */
async function listServed({ db }: Pick<PromoteDeps, 'db'>, { from, names, viewer }: Request): Promise<Held[]> {
  const held = await listHeld(db, viewer, {
    codename: from,
    states: ['published'],
    ...(names === undefined ? {} : { names }),
  })
  return held.sort((a, b) => (printHeld(a) < printHeld(b) ? -1 : 1))
}

function countIn(before: Cursor, copied: readonly Copied[]): Cursor {
  const refused = copied.flatMap(({ held, done }) =>
    done instanceof AppError ? [{ package: printHeld(held), error: done.message }] : [],
  )
  const went = copied.filter(({ done }) => !(done instanceof AppError) && done.outcome === 'created')
  const same = copied.filter(({ done }) => !(done instanceof AppError) && done.outcome === 'already')
  return {
    ...before,
    went: [...new Set([...before.went, ...went.map(({ held }) => held.name)])],
    migrated: before.migrated + went.length,
    unchanged: before.unchanged + same.length,
    errors: [...before.errors, ...refused],
  }
}

async function copyServed(deps: MigrateDeps, request: Request, run: Run<Cursor>): Promise<Copies> {
  const road = roadOf(asSeenBy(deps, request.viewer), request)
  const held = await listServed(deps, request)
  let cursor: Cursor = run.cursor ?? { after: '', went: [], migrated: 0, unchanged: 0, errors: [] }
  const { after } = cursor
  const left = after === '' ? held : held.filter(one => printHeld(one) > after)
  const all: Copied[] = []
  await run.step({ total: held.length, done: held.length - left.length })
  for (let at = 0; at < left.length; at += BATCH) {
    const batch = left.slice(at, at + BATCH)
    const copied = await copyAll(deps, batch, { ...road, by: run.by, ip: request.ip }, run.signal)
    all.push(...copied)
    cursor = { ...countIn(cursor, copied), after: batch.map(printHeld).at(-1) ?? '' }
    await run.step({ cursor, done: held.length - left.length + at + batch.length })
  }
  const { after: _, ...counts } = cursor
  return { ...counts, settled: await settle(all) }
}

/** Copying all or many packages, as a job. */
export const migrateWork = (deps: MigrateDeps): WorkKind<Request, Cursor, Copies> => ({
  kind: KIND,
  name: 'Copy packages into another distribution',
  see: 'maintainer+',
  cancel: 'maintainer+',
  limit: 2,
  run: (run, request) => copyServed(deps, request, run),
})

/**
 * Publishes what one distribution serves in another one, too; the source stays as it is. @param names undefined means
 * all @throws what `roadOf` refuses, job_cancelled
 */
export async function migrate(
  deps: MigrateDeps & { readonly jobs: Jobs },
  names: readonly string[] | undefined,
  { dryRun, by, ...route }: Route,
  caller: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<Migrated> {
  const { from, to, viewer } = route
  roadOf(asSeenBy(deps, viewer), route)
  const request: Request = { ...route, ...(names === undefined ? {} : { names }) }
  const held = await listServed(deps, request)
  const packages = await compareDistributions(deps.db, viewer, { from, to, source: held })
  const known = new Set(held.map(one => one.name))
  const unknown = (names ?? [])
    .filter(name => !known.has(name))
    .map(name => ({ package: name, error: `${from} serves no package ${name}.` }))
  const about = { from, to, differences: packages, difference: summarise(packages) }
  if (dryRun) {
    const { new: fresh, newer, older } = about.difference
    return {
      ...about,
      status: 'dry_run',
      packages: [
        ...new Set(
          packages.filter(({ standing }) => standing !== 'same' && standing !== 'conflict').map(({ name }) => name),
        ),
      ],
      migrated: 0,
      manifests_updated: 0,
      unchanged: 0,
      errors: unknown,
      message: `${fresh + newer + older} packages would go from ${from} to ${to}. Nothing was changed.`,
    }
  }
  const { went, migrated, unchanged, settled, ...copied } = await answerOf<Copies>(
    deps.jobs,
    { kind: KIND, target: to, request: { ...request }, codenames: [from, to], by, requestId: caller.requestId },
    caller.signal,
  )
  const errors = [...unknown, ...copied.errors]
  const status = errors.length > 0 ? (migrated + unchanged > 0 ? 'partial' : 'failed') : settled ? 'ok' : 'pending'
  const said = errors.length === 0 ? '' : ` ${errors.length} could not go.`
  return {
    ...about,
    status,
    packages: went,
    migrated,
    manifests_updated: migrated,
    unchanged,
    errors,
    message: `${migrated} packages went from ${from} to ${to}, ${unchanged} were there.${said}`,
  }
}
