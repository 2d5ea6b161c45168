import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, Moment, OrNull, Text } from '../../core/schemas.ts'
import { LEVELS, type LogEntry } from './entry.ts'

const Entry = Type.Unsafe<LogEntry>(
  Type.Object({
    ts: OrNull(Type.Number()),
    level: listed(LEVELS),
    name: Text,
    message: Text,
    service: listed(['backend', 'apt-repo']),
    log_type: Type.Optional(listed(['access', 'downloads', 'error'])),
    request_id: Type.Optional(Text),
    data: Type.Optional(Type.Object({})),
  }),
)

const filters = {
  service: Type.Optional(listed(['backend', 'apt-repo', 'all'])),
  level: Type.Optional(listed(LEVELS)),
  min_level: Type.Optional(listed(LEVELS)),
  component: Type.Optional(Type.String({ maxLength: 60 })),
  request_id: Type.Optional(Type.String({ maxLength: 128 })),
  q: Type.Optional(Type.String({ maxLength: 200 })),
}

/** What the service and the web server before it wrote down. */
export const logs = contract({
  'GET /logs/services': {
    summary: 'Lists the logs. Those of a web server are available when their files are in the log folder.',
    access: 'admin',
    reply: Type.Object({
      services: Type.Array(Type.Object({ id: Text, label: Text, available: Type.Boolean() })),
    }),
  },
  'GET /logs': {
    summary: 'Lists the newest lines of the logs: one log after the other, each with its oldest line first.',
    details:
      '`lines` is how many of each log. `level` is exactly that one, `min_level` it and those above. `q` searches the whole line; `from` and `to` are days or times, both included. `cursor` is where an older page begins; null when there is none. A filter that fits few lines may give fewer than `lines`, or none, and a cursor: what was read by then was enough for one answer. Files that logrotate packed are read too; one that cannot be is in `unread`.',
    access: 'admin',
    query: Type.Object({
      ...filters,
      lines: Type.Optional(Type.Integer({ minimum: 20, maximum: 2_000 })),
      from: Moment,
      to: Moment,
      cursor: Type.Optional(Type.String({ maxLength: 4_000 })),
    }),
    reply: Type.Object({
      entries: Type.Array(Entry),
      total: Type.Integer(),
      cursor: OrNull(Text),
      unread: Type.Array(Type.Object({ file: Text, reason: Text })),
    }),
    fails: ['bad_request'],
  },
  'GET /logs/stream': {
    summary: 'Streams log lines as they are written, after the last 50 of the service itself.',
    access: 'admin',
    query: Type.Object(filters),
    reply: 'events',
  },
})
