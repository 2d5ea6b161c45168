import type { Handlers, StreamEvent } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import { moment } from '../../core/moment.ts'
import { merged } from '../../lib/merged.ts'
import type { logs } from './contract.ts'
import type { Level } from './entry.ts'
import { createFilter, type LogFilter } from './filter.ts'
import { follow } from './follow.ts'
import { readPage, type Places } from './page.ts'
import { SOURCE_IDS, type LogSource, type SourceId } from './sources.ts'

export interface LogRouteDeps {
  readonly sources: readonly LogSource[]
}

const LINES = 300
const FIRST_LINES = 50

type Service = 'backend' | 'apt-repo' | 'all'
const isOf = ({ id }: LogSource, service: Service): boolean =>
  service === 'all' || (service === 'backend') === (id === 'backend')

/** How far each log was read, for the next page. */
type Cursor = Partial<Record<SourceId, Places>>

const printCursor = (cursor: Cursor): string | null =>
  Object.keys(cursor).length === 0 ? null : Buffer.from(JSON.stringify(cursor)).toString('base64url')

const isPlace = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every(n => Number.isSafeInteger(n) && n >= 0)

/** @throws bad_request for what is no cursor of ours */
function parseCursor(text: string): Cursor {
  try {
    const value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, object>
    const isOurs = Object.entries(value).every(
      ([id, places]) => (SOURCE_IDS as readonly string[]).includes(id) && Object.values(places).every(isPlace),
    )
    if (isOurs && Object.keys(value).length > 0) return value
  } catch {
    // said below
  }
  return fail('bad_request', { said: 'The cursor is none that an answer gave. Leave it out to begin at the end.' })
}

interface FilterQuery {
  readonly level?: Level
  readonly min_level?: Level
  readonly component?: string
  readonly request_id?: string
  readonly q?: string
}

// an empty field of a form filters nothing
const filterOf = ({ level, min_level, component, request_id, q }: FilterQuery): LogFilter => ({
  ...(level ? { level } : {}),
  ...(min_level ? { minLevel: min_level } : {}),
  ...(component ? { component } : {}),
  ...(request_id ? { requestId: request_id } : {}),
  ...(q ? { q } : {}),
})

const seconds = (iso: string): number => Date.parse(iso) / 1000

async function* stream(
  sources: readonly LogSource[],
  filter: LogFilter,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const followed = await Promise.all(sources.map(async source => ({ source, follower: await follow(source) })))
  try {
    for (const { source, follower } of followed)
      if (source.id === 'backend')
        for (const data of (await readPage(source, { filter, limit: FIRST_LINES, places: follower.ends })).entries)
          yield { data }
    yield { comment: 'connected', data: undefined }
    const live = followed.map(async function* ({ source, follower }) {
      const wanted = createFilter(filter, source.read)
      for await (const line of follower.lines(signal)) {
        const data = wanted(line)
        if (data !== undefined) yield { data }
      }
    })
    yield* merged(live)
  } finally {
    await Promise.all(followed.map(({ follower }) => follower.close()))
  }
}

export const logHandlers: Handlers<typeof logs, LogRouteDeps> = {
  'GET /logs/services': async ({ sources }) => ({
    services: await Promise.all(
      sources.map(async ({ service, label, series }) => ({
        id: service,
        label,
        available: (await series()).length > 0,
      })),
    ),
  }),
  'GET /logs': async ({ sources }, { query }) => {
    const since = moment('from', query.from || undefined)
    const until = moment('to', query.to || undefined)
    const filter = {
      ...filterOf(query),
      ...(since === undefined ? {} : { from: seconds(since) }),
      ...(until === undefined ? {} : { to: seconds(until) }),
    }
    const cursor = query.cursor ? parseCursor(query.cursor) : undefined
    const asked = sources.filter(
      source => isOf(source, query.service ?? 'all') && (cursor === undefined || source.id in cursor),
    )
    const pages = await Promise.all(
      asked.map(source => readPage(source, { filter, limit: query.lines ?? LINES, places: cursor?.[source.id] })),
    )
    const entries = pages.flatMap(page => page.entries)
    const older = asked.flatMap(({ id }, n) => {
      const places = pages[n]?.older
      return places === undefined ? [] : [[id, places] as const]
    })
    const unread = pages.flatMap(page => page.unread)
    return { entries, total: entries.length, cursor: printCursor(Object.fromEntries(older)), unread }
  },
  'GET /logs/stream': ({ sources }, { query, raw }) =>
    stream(
      sources.filter(source => isOf(source, query.service ?? 'all')),
      filterOf(query),
      raw.signal,
    ),
}
