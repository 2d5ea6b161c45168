import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../core/errors.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Spool } from '../../files/spool.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { NetFault, refuseAll } from '../../outbound/exchange/fault.ts'
import { chunksIn, type IndexReading } from './read-index.ts'
import { findReader } from './readers.ts'
import type { RemoteReader } from './reader.ts'
import {
  findName,
  saveFailure,
  saveIndex,
  saveMissing,
  saveUnchanged,
  type NameRow,
  type RemoteKey,
} from '../../catalog/queries/remote-versions.ts'
import type { Upstream } from './upstream.ts'

/** What an upstream says of a name, now or when it was last asked. */
export interface KnownName extends NameRow {
  /** Set where the upstream could not be asked now: since when that is what is known, and why. */
  readonly stale?: { readonly since: Date; readonly said: string }
}

/** The names of the registries of others. */
export interface RemoteNames {
  /**
   * What is known of a name; the upstream is asked where that is older than 5 minutes. While it fails, or takes longer
   * than 5 seconds, what was known holds for up to 7 days.
   * @returns undefined where the upstream has no such name and never had one
   * @throws outbound_failed, outbound_refused, upstream_refused where nothing is known
   */
  find(registry: Distribution, name: string): Promise<KnownName | undefined>
  close(): Promise<void>
}

export interface RemoteNamesDeps {
  readonly db: Db
  readonly upstream: Upstream
  readonly spool: Pick<Spool, 'receive'>
  readonly reading: IndexReading
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}

const FRESH_MS = 5 * 60_000
const STALE_MS = 7 * 86_400_000
const SLOW_MS = 5_000
/** An upstream that just failed is not asked by everybody in turn. */
const AGAIN_MS = 30_000
/** Packed, as it comes. */
const MOST_BYTES = 256 * 2 ** 20

const keyOf = ({ codename, name }: RemoteKey): string => `${codename} ${name}`

/** Why, for people: it names the host and no more of the address. */
const saidOf = (error: unknown): string =>
  error instanceof AppError ? error.message : 'Something inside failed; the log says what.'

export function createRemoteNames({ db, upstream, spool, reading, clock, log }: RemoteNamesDeps): RemoteNames {
  const flights = new Map<string, Promise<void>>()
  const ended = new AbortController()

  /** Reads an index that came, and keeps it. */
  async function keep(
    registry: Distribution,
    name: string,
    answer: Awaited<ReturnType<Upstream['ask']>>,
  ): Promise<void> {
    const { signal } = ended
    const { headers, url, body } = answer
    const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase()
    const filename = `the index of ${name}`
    let file: Awaited<ReturnType<Spool['receive']>>
    try {
      file = await spool.receive(body, { filename, limitBytes: MOST_BYTES, setting: 'none', signal })
    } catch (error) {
      answer.discard()
      if (error instanceof NetFault) return refuseAll([error])
      throw error
    }
    const into = `${file.path}.rows`
    try {
      const read = await reading.read({
        ...{ format: registry.format, name, url: url.href, path: file.path, into },
        type: (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
        isPacked: encoding === 'gzip' || encoding === 'x-gzip',
      })
      if ('why' in read) return refuseUpstream(filename, 'malformed', read.why)
      await saveIndex(
        db,
        { codename: registry.codename, name },
        {
          format: registry.format,
          now: clock.now(),
          revision: randomUUID(),
          index: {
            ...read,
            chunks: chunksIn(into),
            validators: {
              ...(headers.etag === undefined ? {} : { 'if-none-match': headers.etag }),
              ...(headers['last-modified'] === undefined ? {} : { 'if-modified-since': headers['last-modified'] }),
            },
          },
        },
      )
    } finally {
      await file.discard()
      await rm(into, { force: true })
    }
  }

  async function refresh(registry: Distribution, name: string, known: NameRow | undefined): Promise<void> {
    const key: RemoteKey = { codename: registry.codename, name }
    const reader = readerOf(registry)
    const { path, accept } = reader.ask(name)
    const answer = await upstream.ask(registry, path, {
      headers: { accept, 'accept-encoding': 'gzip', ...known?.validators },
      signal: ended.signal,
    })
    const { status } = answer
    if (status === 200) return keep(registry, name, answer)
    answer.discard()
    if (status === 304 && known !== undefined) return saveUnchanged(db, key, clock.now())
    // 410: it was taken down
    if (status === 404 || status === 410) return saveMissing(db, key, { now: clock.now(), revision: randomUUID() })
    return refuseAll([new NetFault({ host: answer.url.host, why: `it answered ${status}` })])
  }

  const readerOf = ({ format }: Distribution): RemoteReader => {
    const reader = findReader(format)
    if (reader === undefined) throw new Error(`the format ${format} has no reader of indexes`)
    return reader
  }

  /** One request a name, whoever asks. */
  function fly(registry: Distribution, name: string, known: NameRow | undefined): Promise<void> {
    const key = { codename: registry.codename, name }
    const flying = flights.get(keyOf(key))
    if (flying !== undefined) return flying
    const flight = refresh(registry, name, known)
      .catch(async (error: unknown) => {
        log.warn({ err: error, registry: registry.codename, name }, 'the upstream gave no usable index')
        await saveFailure(db, key, { now: clock.now(), said: saidOf(error) })
        throw error
      })
      .finally(() => flights.delete(keyOf(key)))
    // somebody may have stopped waiting
    flight.catch(() => undefined)
    flights.set(keyOf(key), flight)
    return flight
  }

  const ageOf = (at: Date): number => clock.now().getTime() - at.getTime()
  const isUsable = ({ checked_at }: NameRow): boolean => ageOf(checked_at) < STALE_MS

  return {
    async find(registry, name) {
      const key = { codename: registry.codename, name }
      const known = await findName(db, key)
      const found = (row: NameRow | undefined, said?: string): KnownName | undefined =>
        row === undefined || said === undefined ? row : { ...row, stale: { since: row.checked_at, said } }
      if (known !== undefined && ageOf(known.checked_at) < FRESH_MS) return found(known)
      if (known !== undefined && known.said !== null && isUsable(known) && ageOf(known.tried_at) < AGAIN_MS)
        return found(known, known.said)
      const flight = fly(registry, name, known)
      if (known === undefined || !isUsable(known)) {
        await flight
        return findName(db, key)
      }
      const over = new AbortController()
      const slow = sleep(SLOW_MS, 'slow' as const, { signal: over.signal }).catch(() => 'slow' as const)
      try {
        const first = await Promise.race([flight.then(() => 'came' as const), slow])
        return first === 'came' ? await findName(db, key) : found(known, 'It did not answer within 5 s.')
      } catch (error) {
        return found(known, saidOf(error))
      } finally {
        over.abort()
      }
    },
    async close() {
      ended.abort(new Error('the service stops'))
      await Promise.allSettled(flights.values())
      await reading.close()
    },
  }
}
