import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { FormatId } from '../../core/identity.ts'
import { isUnavailable } from '../../db/database-unavailable.ts'
import type { Db, Tx } from '../../db/db.ts'
import type { UpstreamReader } from '../../formats/upstream.ts'
import type { Clock } from '../../lib/clock.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { Log } from '../../lib/log.ts'
import type { Source } from '../source.ts'
import { openRoot, type OpenedRoot } from './open-root.ts'
import { isOfLayout, mayPass, scopeOf, troubleOf, type SyncResult } from './outcome.ts'
import type { JudgeRoots, KeysFor, OpenSource, Reached } from './reach.ts'
import type { ReadAnswer, ReadQuestion } from './read-entries.ts'
import type { readInThread } from './reading.ts'
import {
  findHeld,
  findTried,
  listAsked,
  listEntries,
  MOST_PACKAGES,
  recordTrouble,
  recordUnchanged,
  takeIds,
  type Held,
} from './store.ts'
import type { Turns } from './turns.ts'
import { SourceRemoved, writeFound, type Found, type Written } from './write.ts'

export interface SyncDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** A folder for what is read and not written yet. */
  readonly incoming: string
  readonly readerOf: (format: FormatId) => UpstreamReader
  readonly reach: OpenSource
  readonly keysFor: KeysFor
  readonly judge: JudgeRoots
  readonly read: typeof readInThread
  /** Reading takes memory, and sources of a format look at one another: asking for a root needs no turn. */
  readonly turns: Turns<FormatId>
  /** How long to wait before a mirror that may be in the middle of an update is asked again. */
  readonly againAfterMs?: readonly number[]
}

export interface SyncOptions {
  readonly signal: AbortSignal
  /** Called now and then with how many entries were read. */
  readonly told?: (entries: number) => void
  /** Done in the transaction that writes the catalogue; it is not called where nothing is written. */
  readonly within?: (tx: Tx) => Promise<void>
}

/** Brings the catalogue of one source up to date; one at a time for each source. */
export interface Sync {
  /**
   * Whatever is wrong with the source is its result; the catalogue of before stays then.
   * @throws the reason of `signal`; DatabaseUnavailable
   */
  run(source: Source, options: SyncOptions): Promise<SyncResult>
}

/** How rows are written. Another number when entries are read in another way: all are read again then. */
const LAYOUT = 1
const AGAIN_MS = [30_000, 60_000] as const
const DIGEST = 20

/** A root that is not taken. */
class Refused extends Error {
  readonly refusal: NonNullable<Awaited<ReturnType<JudgeRoots>>>
  constructor(refusal: Refused['refusal']) {
    super(refusal.said)
    this.refusal = refusal
  }
}

interface Reading {
  readonly source: Source
  readonly root: OpenedRoot
  readonly held: Held | undefined
  readonly reached: Reached
  readonly folder: string
  readonly options: SyncOptions
}

/** Entries that need not be parsed: those of the catalogue first, then those that were left out of it. */
interface Known {
  readonly ids: readonly number[]
  readonly digests: Buffer
  readonly dropped: Buffer
}

const NOTHING: Known = { ids: [], digests: Buffer.alloc(0), dropped: Buffer.alloc(0) }

/** Those of the dropped entries that are listed still. */
function stillListed({ ids, dropped }: Known, { seen }: ReadAnswer): Buffer {
  const parts: Buffer[] = []
  for (let n = 0; n * DIGEST < dropped.length; n++)
    if (seen[ids.length + n] === 1) parts.push(dropped.subarray(n * DIGEST, (n + 1) * DIGEST))
  return Buffer.concat(parts)
}

/** Reads what is new. Reads all once more where what is new changes what is kept of the rest. */
async function readNew(deps: SyncDeps, reading: Reading): Promise<Omit<Found, 'synced' | 'scope'>> {
  const { source, root, held, reached, folder, options } = reading
  const all = await listEntries(deps.db, source.id)
  const isUsable = held !== undefined && isOfLayout(held.scope, LAYOUT)
  const ask = async (known: Known, asked: readonly string[]): Promise<Omit<Found, 'synced' | 'scope'>> => {
    const firstId = await takeIds(deps.db)
    const question: ReadQuestion = {
      format: source.format,
      sourceId: source.id,
      place: root.place,
      roots: root.files,
      answers: root.answers,
      known: Buffer.concat([known.digests, known.dropped]),
      asked,
      firstId,
      mostPackages: MOST_PACKAGES,
      folder,
    }
    const { signal, told = () => undefined } = options
    const answer = await deps.read(question, { fetch: reached.fetch, signal, told })
    const gone = known.ids.length === 0 ? all.ids : known.ids.filter((_, n) => answer.seen[n] !== 1)
    const leftOut = answer.leftOut || (known.ids.length > 0 && held?.left_out === true)
    const dropped = stillListed(known, answer)
    return { source, held, folder, firstId, gone, dropped, answer: { ...answer, leftOut } }
  }
  const asked = await listAsked(deps.db, source.format)
  const first = await ask(isUsable ? { ...all, dropped: held.dropped } : NOTHING, asked)
  const isAskedMore = first.answer.leftOut && first.answer.asked.length > asked.length
  // older versions may be among the newest again, now that others are gone
  const isOlderWanted = isUsable && held.dropped.length > 0 && first.gone.length > 0
  return isAskedMore || isOlderWanted ? ask(NOTHING, first.answer.asked) : first
}

/** Makes the one way to bring the catalogue up to date. */
export function createSync(deps: SyncDeps): Sync {
  const { db, clock, againAfterMs = AGAIN_MS } = deps
  const lock = createKeyedLock()

  /** Reads and writes what is new; undefined where the root is the one that is held. @throws Refused */
  async function attempt(
    source: Source,
    { reached, options, opened }: { reached: Reached; options: SyncOptions; opened: () => void },
  ): Promise<Written | undefined> {
    const now = clock.now()
    const reader = deps.readerOf(source.format)
    const root = await openRoot(reader, source, { fetch: reached.fetch, keys: await deps.keysFor(source), now })
    const refusal = await deps.judge(source, root.roots)
    if (refusal !== undefined) throw new Refused(refusal)
    opened()
    const held = await findHeld(db, source.id)
    if (held?.sha256 === root.sha256 && held.scope === scopeOf(source, LAYOUT)) return undefined
    const { signal } = options
    return deps.turns(source.format, signal, () => readAndWrite({ source, root, reached, options }))
  }

  async function readAndWrite(reading: Omit<Reading, 'held' | 'folder'>): Promise<Written> {
    const { source, root, reached, options } = reading
    // what others wrote while this waited may have it read as a whole
    const held = await findHeld(db, source.id)
    const folder = join(deps.incoming, `catalogue-${source.id}`)
    await rm(folder, { recursive: true, force: true }) // of a process that was killed
    await mkdir(folder, { recursive: true, mode: 0o750 })
    try {
      const found = await readNew(deps, { ...reading, held, folder })
      const { roots, sha256 } = root
      const synced = { roots, sha256, now: clock.now(), bytes: reached.bytes(), mirror: reached.mirror() }
      options.signal.throwIfAborted()
      const within = options.within ?? (async () => undefined)
      return await writeFound(db, { ...found, scope: scopeOf(source, LAYOUT), synced }, within)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async function run(source: Source, options: SyncOptions): Promise<SyncResult> {
    const { signal } = options
    let reached: Reached | undefined
    let inRoot = true
    const bytes = (): number => reached?.bytes() ?? 0
    for (let tries = 0; ; tries++) {
      try {
        signal.throwIfAborted()
        inRoot = true
        reached ??= deps.reach.open(source, { signal })
        const written = await attempt(source, { reached, options, opened: () => (inRoot = false) })
        const outcome = { source_id: source.key, state: 'ok', said: null, bytes: bytes() } as const
        if (written !== undefined) return { ...outcome, changed: written.added + written.removed > 0, ...written }
        await recordUnchanged(db, { sourceId: source.id, bytes: bytes(), mirror: reached.mirror(), now: clock.now() })
        const { packages = 0 } = (await findHeld(db, source.id)) ?? {}
        return { ...outcome, changed: false, packages, added: 0, removed: 0 }
      } catch (error) {
        signal.throwIfAborted()
        if (isUnavailable(error)) throw error
        const pause = againAfterMs[tries]
        if (!inRoot && mayPass(error) && pause !== undefined) {
          // the root may be newer than the indexes beside it
          await wait(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
          continue
        }
        return await failed(source, error, { inRoot, bytes: bytes(), mirror: reached?.mirror() })
      }
    }
  }

  async function failed(
    source: Source,
    error: unknown,
    { inRoot, bytes, mirror }: { inRoot: boolean; bytes: number; mirror: string | undefined },
  ): Promise<SyncResult> {
    const now = clock.now()
    const sourceId = source.id
    if (error instanceof SourceRemoved) {
      const said = 'It was removed while it was synchronised.'
      return { source_id: source.key, state: 'gone', said, changed: false, packages: 0, added: 0, removed: 0, bytes }
    }
    const trouble =
      error instanceof Refused
        ? { ...error.refusal, missing: false }
        : troubleOf(error, { inRoot, tried: await findTried(db, sourceId), now })
    if (trouble.state === 'error') deps.log.error({ err: error, source: source.key }, 'a source could not be read')
    await recordTrouble(db, { sourceId, ...trouble, bytes, mirror, now })
    const { packages = 0 } = (await findHeld(db, sourceId)) ?? {}
    const { state, said } = trouble
    return { source_id: source.key, state, said, changed: false, packages, added: 0, removed: 0, bytes }
  }

  return { run: (source, options) => lock.run(String(source.id), () => run(source, options)) }
}
