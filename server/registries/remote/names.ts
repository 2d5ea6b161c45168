import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { isRefusal } from '../../core/errors.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Spool } from '../../files/spool.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import { printBytes } from '../../lib/limited.ts'
import type { Clock } from '../../lib/clock.ts'
import { noteUnanswered } from '../../catalog/queries/remote-unanswered.ts'
import { NetFault, refuseAll } from '../../outbound/exchange/fault.ts'
import { outcomeOf, type Freshness, type Known } from './freshness.ts'
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
export type KnownName = Known<NameRow>

export interface FindOptions {
  readonly anyAge?: boolean
}

/** The names of the registries of others. */
export interface RemoteNames {
  /**
   * What is known of a name, as fresh as `Freshness.current` has it.
   * @param options.anyAge  what was ever known of it is enough
   * @returns undefined where the upstream has no such name and never had one
   * @throws outbound_failed, outbound_refused, upstream_refused where nothing is known
   */
  find(registry: Distribution, name: string, options?: FindOptions): Promise<KnownName | undefined>
  close(): Promise<void>
}

export interface RemoteNamesDeps {
  readonly db: Db
  readonly upstream: Upstream
  readonly spool: Pick<Spool, 'receive'>
  readonly reading: IndexReading
  readonly freshness: Freshness
  readonly clock: Clock
}

interface Asked {
  readonly registry: Distribution
  readonly name: string
}

/** Packed, as it comes. */
const MOST_BYTES = 256 * 2 ** 20

export function createRemoteNames({ db, upstream, spool, reading, freshness, clock }: RemoteNamesDeps): RemoteNames {
  /** Reads an index that came, and keeps it. */
  async function keep(
    { registry, name }: Asked,
    answer: Awaited<ReturnType<Upstream['ask']>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { headers, url, body } = answer
    const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase()
    const filename = `the index of ${name}`
    let file: Awaited<ReturnType<Spool['receive']>>
    try {
      file = await spool.receive(body, { filename, limitBytes: MOST_BYTES, setting: 'none', signal })
    } catch (error) {
      answer.discard()
      if (error instanceof NetFault) return refuseAll([error])
      if (isRefusal(error, 'upload_too_large'))
        return refuseUpstream(filename, 'malformed', `it has more than ${printBytes(MOST_BYTES)}`)
      throw error
    }
    const into = `${file.path}.rows`
    try {
      const read = await reading.read(
        {
          ...{ format: registry.format, name, url: url.href, path: file.path, sizeBytes: file.blob.size, into },
          type: (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '',
          isPacked: encoding === 'gzip' || encoding === 'x-gzip',
        },
        signal,
      )
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

  async function refresh(asked: Asked, known: NameRow | undefined, signal: AbortSignal): Promise<void> {
    const { registry, name } = asked
    const key: RemoteKey = { codename: registry.codename, name }
    const reader = readerOf(registry)
    const { path, accept } = reader.ask(name)
    const answer = await upstream.ask(registry, path, {
      headers: { accept, 'accept-encoding': 'gzip', ...known?.validators },
      signal,
    })
    const { status } = answer
    if (status === 200) return keep(asked, answer, signal)
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

  return {
    async find(registry, name, { anyAge = false } = {}) {
      const key = { codename: registry.codename, name }
      const known = anyAge ? await findName(db, key) : undefined
      if (known?.is_missing === false) return known
      return freshness.current<NameRow>({
        key: `name ${registry.codename} ${name}`,
        find: () => findName(db, key),
        refresh: (known, signal) => refresh({ registry, name }, known, signal),
        failed: async (said, error) => {
          const now = clock.now()
          await saveFailure(db, key, { now, said })
          await noteUnanswered(db, key, { outcome: outcomeOf(error), said, now })
        },
      })
    },
    close: () => reading.close(),
  }
}
