import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Actor } from '../../catalog/change.ts'
import { MAKE_ROOM } from '../../core/disk.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import { sha256, type Codename } from '../../core/identity.ts'
import type { Imported, State } from '../../core/manifest.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Run, WorkKind } from '../../core/work.ts'
import { ALL_SEEING } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Spool } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import { failpoint } from '../../lib/failpoint.ts'
import { passGate, type Gate } from '../../pipeline/gate.ts'
import type { Settings } from '../../settings/store.ts'
import type { Source } from '../source.ts'
import { whyNot } from '../why-not.ts'
import { sayChanged } from './changed.ts'
import { fetchAhead, type FetchedItem } from './fetch-ahead.ts'
import { endItem, insertItems, listItems, openGroup } from './items.ts'
import { isNoRoom, sayNoRoom } from './no-room.ts'
import { belowOf, lackOf } from './lack.ts'
import type { Item, ItemState, Planned } from './planned.ts'
import { sayOf, type End } from './said.ts'

export const IMPORT_PACKAGES = 'import'

/** What is to be imported. `arch` and `group` are filled in when it is asked. */
export interface ImportRequest {
  readonly packages: readonly { readonly name: string; readonly version?: string }[]
  readonly codename: string
  readonly arch: string
  readonly group: string
  readonly recommends: boolean
  /** This source alone is asked for the named packages. */
  readonly source_key?: string
  /** The distribution's own base packages are assumed, as its setting says, unless this says otherwise. */
  readonly base?: 'none' | 'minbase' | 'upstream'
  readonly ip?: string
  /** No file is begun after this moment; what is left over then stays `waiting`. */
  readonly until?: string
  /** No file is begun that would leave less than so many GB free on the disk. */
  readonly free_gb?: number
  /** The job that asks for it, and the place there: `1f2e3d4c:0`. */
  readonly part_of?: string
}

/** Why an import ended before its end. `disk` is the bound of the request, `out_of_space` that of the machine. */
export type Bound = 'time' | 'disk' | 'out_of_space'

/** What an import is going to do. */
export interface ImportPlan {
  readonly packages: readonly Planned[]
  /** Sentences: what is missing, and for whom. */
  readonly unresolved: readonly string[]
}

/** What became of the packages, by state, and what could not be resolved. */
export interface ImportResult {
  readonly group: string
  readonly distribution: string
  readonly counts: Readonly<Record<Exclude<ItemState, 'waiting'>, number>>
  /** Of those that are through. */
  readonly bytes: number
  /** Absent: it came to its end. */
  readonly stopped?: Bound
  readonly packages: readonly {
    readonly name: string
    readonly version: string
    readonly arch: string
    readonly status: ItemState
    readonly is_root: boolean
    readonly why: string | null
  }[]
  readonly unresolved: readonly string[]
}

export interface ImportDeps {
  readonly db: Db
  readonly gate: Gate
  readonly spool: Pick<Spool, 'receive'>
  readonly settings: Pick<Settings, 'now'>
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly formatOf: (id: Format['id']) => Format
  readonly findSource: (id: number) => Promise<Source | undefined>
  /** Resolves what is asked for. @throws import_unknown, catalogue_empty */
  readonly plan: (request: ImportRequest, signal: AbortSignal) => Promise<ImportPlan>
  /** Fetches a file of a source, whole and checked, also its own signature where that is needed. Gives its path. */
  readonly download: (source: Source, item: Item, options: DownloadOptions) => Promise<string>
  /** @throws import_no_room */
  readonly needRoom: (bytes: number) => Promise<void>
  /** The bound that the next file, of so many bytes, would exceed. */
  readonly boundOf: (request: Pick<ImportRequest, 'until' | 'free_gb'>, bytes: number) => Promise<Bound | undefined>
  /** Asks for the publication that many packages owe together, now, and waits for it a while, unless it is stopped. */
  readonly publish: (codename: Codename, signal: AbortSignal) => Promise<void>
}

export interface DownloadOptions {
  readonly signal: AbortSignal
}

const METHOD_OF = { http: 'internet', tree: 'directory' } as const

/** How a package passes the gate. */
interface How {
  readonly actor: Actor
  readonly imported: Imported
  /** Why it waits for a person whatever the gate finds. */
  readonly heldFor: string | undefined
  readonly signal: AbortSignal
}

/** Of those that are through, as far as they came. */
const bytesOf = (items: readonly Item[]): number =>
  items
    .filter(({ state }) => state !== 'waiting' && state !== 'upstream_changed')
    .reduce((sum, { size }) => sum + size, 0)

/** The tree follows this much later than the first package at most; at the end of the job it follows at once. */
const PUBLISH_WITHIN_MS = 60_000
/** So many packages pass the gate at once. */
const AT_ONCE = 4

const STATE_OF: Readonly<Record<State, ItemState>> = {
  published: 'added',
  pending_review: 'pending_review',
  quarantined: 'blocked',
  rejected: 'blocked',
}

/**
 * An import: fetches a closure, passes each package through the gate, what is needed before what needs it, and
 * publishes them together. One bad file never ends it.
 */
export function importWork(deps: ImportDeps): WorkKind<ImportRequest, { planned: string[] }, ImportResult> {
  const { db, gate, spool, settings, repositories, formatOf } = deps

  async function lay(run: Run<{ planned: string[] }>, request: ImportRequest): Promise<readonly string[]> {
    const plan = await deps.plan(request, run.signal)
    const distribution = repositories.seenBy(ALL_SEEING).get(request.codename)
    const { codename, format } = distribution
    await db.tx(async tx => {
      const asked = request.packages.map(({ name }) => name)
      const groupId =
        (await openGroup(tx, { name: request.group, codename, asked, by: run.by })) ??
        fail('import_group_elsewhere', { group: request.group, codename })
      await insertItems(tx, { groupId, jobId: run.id, format, codename }, plan.packages)
      const coming = plan.packages.filter(({ changed }) => changed === undefined)
      const staying = plan.packages.flatMap(one =>
        one.changed === undefined ? [] : [sayOf(one, { state: 'upstream_changed', why: one.changed })],
      )
      await run.step(
        {
          cursor: { planned: [...plan.unresolved] },
          done: staying.length,
          total: plan.packages.length,
          totalBytes: coming.reduce((sum, { size }) => sum + size, 0),
          say: [
            { level: 'info', message: `${coming.length} packages come in.` },
            ...plan.unresolved.map(message => ({ level: 'warning' as const, message })),
            ...staying,
          ],
        },
        tx,
      )
    })
    failpoint('import:planned')
    return plan.unresolved
  }

  /** One file through the gate. @throws the signal's reason */
  async function admit(
    fetched: FetchedItem & { readonly path: string },
    { actor, imported, heldFor, signal }: How,
  ): Promise<End> {
    const { item, path } = fetched
    const distribution = repositories.seenBy(ALL_SEEING).get(item.codename)
    const { sha256: digest } = item.digests
    const file = await spool.receive(createReadStream(path), {
      filename: basename(item.path),
      signal,
      limitBytes: settings.now().validation.max_upload_size_mb * 1024 * 1024,
    })
    const changed = await passGate(
      gate,
      {
        file,
        format: formatOf(item.format),
        distribution,
        from: `source:${item.sourceKey}`,
        imported,
        actor,
        publishWithinMs: PUBLISH_WITHIN_MS,
        ...(item.component !== undefined && distribution.components.includes(item.component)
          ? { component: item.component }
          : {}),
        ...(digest === undefined ? {} : { expectedSha256: sha256(digest) }),
        ...(heldFor === undefined ? {} : { heldFor }),
      },
      signal,
    )
    const { outcome, manifest } = changed
    if (outcome === 'already' && manifest.state === 'published')
      // a run of this job before this one may have admitted it and then been killed
      return { state: manifest.by === actor.name && manifest.imported?.group === imported.group ? 'added' : 'already' }
    const state = STATE_OF[manifest.state]
    return state === 'added' ? { state } : { state, why: whyNot(manifest) }
  }

  /** @returns undefined where the disk has no room for it */
  async function bring(fetched: FetchedItem, how: How): Promise<End | undefined> {
    const { path, item } = fetched
    if (path === undefined) return { state: 'failed', why: fetched.why }
    try {
      return await admit({ ...fetched, path }, how)
    } catch (error) {
      how.signal.throwIfAborted()
      if (isNoRoom(error)) return undefined
      if (!isRefusal(error)) throw error
      if (error.code !== 'duplicate_conflict') return { state: 'failed', why: error.message }
      const { existing_sha256: here, incoming_sha256: there } = error.facts
      return {
        state: 'upstream_changed',
        why: sayChanged(item.sourceKey, { here: String(here), there: String(there) }),
      }
    } finally {
      if (!how.signal.aborted) await rm(path, { force: true })
    }
  }

  /** @returns the bound that it came to */
  async function importAll(
    run: Run<{ planned: string[] }>,
    items: readonly Item[],
    { request, actor }: { readonly request: ImportRequest; readonly actor: Actor },
  ): Promise<Bound | undefined> {
    const states = new Map<number, ItemState>(items.map(({ seq, state }) => [seq, state]))
    const below = belowOf(items)
    const lackOfItem = lackOf(below, states)
    const waiting = items.filter(({ state }) => state === 'waiting')
    let done = items.length - waiting.length
    let bytes = bytesOf(items)
    const sources = new Map<number, Source>()
    const ending = new Map<number, Promise<void>>()

    async function sourceOf({ sourceId, sourceKey }: Item): Promise<Source> {
      const found = sources.get(sourceId) ?? (await deps.findSource(sourceId))
      if (found === undefined) return fail('import_source_gone', { source: sourceKey })
      sources.set(sourceId, found)
      return found
    }

    async function end(item: Item, result: End): Promise<void> {
      states.set(item.seq, result.state)
      const step = { done: ++done, bytes: (bytes += item.size), say: [sayOf(item, result)] }
      try {
        await db.tx(async tx => {
          await endItem(tx, item, result)
          await run.step(step, tx)
        })
      } catch (error) {
        // cancelled while it passed the gate: it is in all the same, and its group says so
        if (run.signal.aborted) await endItem(db, item, result)
        throw error
      }
      failpoint('import:after-item')
    }

    let bound: Bound | undefined
    const fetched = fetchAhead(waiting, {
      download: async item => deps.download(await sourceOf(item), item, run),
      isLeft: async ({ size }) => (bound ??= await deps.boundOf(request, size)) !== undefined,
      isOver: error => isNoRoom(error) && (bound = 'out_of_space') !== undefined,
      signal: run.signal,
    })
    async function take(one: FetchedItem): Promise<void> {
      const { item } = one
      if (one.isLeft === true) return
      // a file that came while another one found no room
      if (bound === 'out_of_space') return rm(one.path ?? '', { force: true })
      // what it needs is decided before it is, in a cycle something is first; what was asked for comes after all of it
      const needed = item.isRoot ? [...below(item)].map(({ seq }) => seq) : item.needs
      await Promise.all(needed.flatMap(seq => (seq < item.seq ? (ending.get(seq) ?? []) : [])))
      const imported: Imported = { method: METHOD_OF[sources.get(item.sourceId)?.kind ?? 'http'], group: request.group }
      const how = { actor, imported, heldFor: lackOfItem(item), signal: run.signal }
      const work = bring(one, how).then(async result => {
        if (result === undefined) bound = 'out_of_space'
        else await end(item, result)
      })
      ending.set(item.seq, work)
      const settle = (): boolean => ending.delete(item.seq)
      work.then(settle, () => undefined)
      while (ending.size >= AT_ONCE) await Promise.race(ending.values())
    }

    try {
      for await (const one of fetched) await take(one)
      await Promise.all(ending.values())
      if (bound === 'out_of_space')
        await run.step({ say: [{ level: 'error', message: sayNoRoom(items.length - done, MAKE_ROOM) }] })
      return bound
    } finally {
      await Promise.allSettled(ending.values())
    }
  }

  return {
    kind: IMPORT_PACKAGES,
    name: 'Import packages',
    see: 'any',
    cancel: 'maintainer+',
    limit: 2,
    async run(run, request) {
      const unresolved = run.cursor?.planned ?? (await lay(run, request))
      const items = await listItems(db, run.id)
      await deps.needRoom(items.filter(one => one.state === 'waiting').reduce((sum, { size }) => sum + size, 0))
      const { ip } = request
      const actor = { name: run.by, ...(ip === undefined ? {} : { ip }) }
      let stopped: Bound | undefined
      try {
        stopped = await importAll(run, items, { request, actor })
      } finally {
        await deps.publish(request.codename as Codename, run.signal)
      }
      const ended = await listItems(db, run.id)
      const counts = Object.fromEntries(
        (['added', 'already', 'pending_review', 'blocked', 'upstream_changed', 'failed'] as const).map(state => [
          state,
          ended.filter(one => one.state === state).length,
        ]),
      ) as ImportResult['counts']
      return {
        group: request.group,
        distribution: request.codename,
        counts,
        bytes: bytesOf(ended),
        ...(stopped === undefined ? {} : { stopped }),
        packages: ended.map(({ identity: { name, version, arch }, isRoot, state, why }) => ({
          ...{ name, version, arch },
          is_root: isRoot,
          status: state,
          why: why ?? null,
        })),
        unresolved,
      }
    },
  }
}
