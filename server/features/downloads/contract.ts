import { Type, type Static } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, OrNull, Text, Time } from '../../core/schemas.ts'
import { FORMATS } from '../../formats/index.ts'
import { CLIENTS, KINDS } from './access-log.ts'
import type { SeenClient } from './seen-clients.ts'

const FORMAT_IDS: readonly string[] = FORMATS.map(({ id }) => id)

const Count = Type.Integer()
const counts = <const Key extends string>(keys: readonly Key[]) =>
  Type.Unsafe<Readonly<Record<Key, number>>>(Type.Object(Object.fromEntries(keys.map(key => [key, Count]))))
const Sums = { downloads: Count, bytes: Count }
const Day = Type.Object({ date: Text, ...Sums })

const Recent = Type.Object({
  ip: Text,
  date: Text,
  hour: Type.Integer({ minimum: 0, maximum: 23 }),
  at: Time,
  filename: Text,
  name: Text,
  version: Text,
  arch: Text,
  distribution: OrNull(Text),
  pkg_format: Text,
  client_type: Text,
  bytes: Count,
  user_agent: Text,
  status: Count,
  path: Text,
})
export type RecentDownload = Static<typeof Recent>

const Stats = Type.Object({
  summary: Type.Object({
    total_downloads: Count,
    unique_packages: Count,
    unique_clients: Count,
    total_bytes: Count,
    per_format: counts(FORMAT_IDS),
    per_client_type: counts(CLIENTS),
    avg_per_day: Count,
    peak_day: OrNull(Day),
    log_available: Type.Boolean(),
  }),
  per_package: Type.Array(
    Type.Object({ name: Text, ...Sums, versions: Type.Array(Text), clients: Count, format: Text }),
  ),
  per_day: Type.Array(Day),
  /** The first day that was counted; null before the first request. */
  counted_since: OrNull(Text),
  recent: Type.Readonly(Type.Unsafe<readonly RecentDownload[]>(Type.Array(Recent))),
  per_distribution: Type.Array(Type.Object({ distribution: OrNull(Text), format: Text, ...Sums })),
  per_version: Type.Array(
    Type.Object({ name: Text, version: Text, distribution: OrNull(Text), format: Text, ...Sums, clients: Count }),
  ),
  per_network: Type.Array(Type.Object({ network: Text, ...Sums })),
  requests: counts(KINDS),
  never_fetched: Type.Object({
    total: Count,
    bytes: Count,
    items: Type.Array(
      Type.Object({
        distribution: Text,
        format: Text,
        name: Text,
        version: Text,
        arch: Text,
        size: Count,
        served_since: Time,
      }),
    ),
  }),
  since: Text,
})
export type DownloadStats = Static<typeof Stats>

const Seen = Type.Object({ at: Time, address: Text, client: listed(CLIENTS), distribution: Text })

/** What clients fetched. */
export const downloads = contract({
  'GET /downloads/stats': {
    summary:
      'Counts what clients fetched in the last `days` days (30), by day, package, version, distribution and network.',
    details:
      'A download is a GET of a package that was answered with all of it, or with a part that begins at its first byte. In registries that is a tarball, a wheel or source release, an artifact of Maven (a pom only where the version is nothing else), the manifest of an image. What is asked for by a tag, or through a group, counts for the version and the registry that have it when the log is read. `requests` tells the others: other parts (`range`), HEAD, 304, index files, packages that are not here (`missing`), refusals, and answers that the client broke off. Lists have the `most` (50) with most downloads; days are in UTC, and those without any are left out; of days before `counted_since` nothing is known. `recent` shows whole addresses to those who may read the audit log, networks to others. `never_fetched` are packages that are served since before `since`. Those of registries are among them where the log told of requests of registries before that day, too.',
    access: 'any',
    query: Type.Object({
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 365 })),
      most: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 10_000, description: 'How many rows a list has at most.' }),
      ),
    }),
    reply: Stats,
  },
  'GET /downloads/clients': {
    summary:
      'Names the machines that asked for the index of a distribution or registry since a moment, the newest first.',
    details:
      'Read from the end of the access log, so it knows of a request at once. `known` is false where there is no log to read, and `why` says which: then nobody can say that no machine asked.',
    access: 'admin',
    limit: { bucket: 'clients', perMinute: 60 },
    query: Type.Object({ since: Time }),
    reply: Type.Object({
      known: Type.Boolean(),
      why: OrNull(listed(['no_log', 'unreadable'])),
      log: OrNull(
        Type.String({ description: 'The log of a proxy that the settings name; null: that of this service.' }),
      ),
      clients: Type.Readonly(Type.Unsafe<readonly SeenClient[]>(Type.Array(Seen))),
    }),
  },
})
