import { isPackagePath } from './registry-paths.ts'

/** What a request was for, by its line. Only a `download` counts as one. */
export const KINDS = ['download', 'range', 'head', 'not_modified', 'index', 'missing', 'refused', 'aborted'] as const
export type RequestKind = (typeof KINDS)[number]
export const CLIENTS = [
  'apt',
  'dnf',
  'zypper',
  'apk',
  'npm',
  'pnpm',
  'yarn',
  'bun',
  'pip',
  'uv',
  'poetry',
  'twine',
  'mvn',
  'gradle',
  'skopeo',
  'podman',
  'docker',
  'containerd',
  'curl',
  'wget',
  'other',
] as const
export type ClientType = (typeof CLIENTS)[number]

/** One request of a tree or a registry, as an access log has it. */
export interface Access {
  /** The whole hour it was made in, in UTC: `2026-11-23T15`. */
  readonly hour: string
  /** Minutes and seconds of it: `04:05`. */
  readonly rest: string
  readonly address: string
  readonly kind: RequestKind
  /** Without its query, percent-encoded as it was sent. */
  readonly path: string
  readonly status: number
  readonly bytes: number
  readonly agent: string
}

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

/** Hours as logs print them, with their zone, and what they are in UTC. Few are seen: lines come in order. */
const hours = new Map<string, string | undefined>()
const MOST_HOURS = 1_000

// 23/Nov/2026:15 +0000
function readHour(text: string): string | undefined {
  const [, day, month = '', year, hour, sign, hoursEast, minutesEast] =
    /^(\d\d)\/([A-Z][a-z][a-z])\/(\d{4}):(\d\d) ([+-])(\d\d)(\d\d)$/.exec(text) ?? []
  const at = MONTHS.indexOf(month)
  if (day === undefined || at < 0 || at % 3 !== 0) return undefined
  const ms = Date.parse(
    `${year}-${String(at / 3 + 1).padStart(2, '0')}-${day}T${hour}:00:00${sign}${hoursEast}:${minutesEast}`,
  )
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().slice(0, 13)
}

function hourOf(stamp: string): string | undefined {
  const key = `${stamp.slice(0, 14)} ${stamp.slice(21)}`
  if (hours.has(key)) return hours.get(key)
  if (hours.size >= MOST_HOURS) hours.clear()
  const hour = readHour(key)
  hours.set(key, hour)
  return hour
}

/** Programs by what they call themselves, the first that fits: some name others behind their own name. */
const AGENTS: readonly (readonly [pattern: RegExp, client: ClientType])[] = [
  [/^npm\//i, 'npm'],
  [/^pnpm\//i, 'pnpm'],
  [/^yarn\//i, 'yarn'],
  [/^bun\//i, 'bun'],
  [/^pip\//i, 'pip'],
  [/^uv\//i, 'uv'],
  [/^poetry\//i, 'poetry'],
  [/^twine\//i, 'twine'],
  [/^Apache-Maven\//i, 'mvn'],
  [/^Gradle\//i, 'gradle'],
  [/^skopeo\//i, 'skopeo'],
  [/^(?:libpod|podman)\//i, 'podman'],
  [/^docker\//i, 'docker'],
  [/^containerd\//i, 'containerd'],
  [/\bAPT(?:-HTTP|\b)/i, 'apt'],
  [/ZYpp|zypper/i, 'zypper'],
  [/\b(?:lib)?dnf|\byum\b|PackageKit/i, 'dnf'],
  [/apk-tools|^apk\b/i, 'apk'],
  [/^curl\//i, 'curl'],
  [/^wget/i, 'wget'],
]

/** The program that asked, by what it calls itself. */
export const clientOf = (agent: string): ClientType => AGENTS.find(([pattern]) => pattern.test(agent))?.[1] ?? 'other'

function kindOf(method: string, status: number, path: string, range: string | undefined): RequestKind | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const isPackage = isPackagePath(path)
  if (status === 499) return 'aborted'
  if (status === 404) return isPackage ? 'missing' : 'refused'
  if (status >= 400) return 'refused'
  if (status === 304) return 'not_modified'
  if (status !== 200 && status !== 206) return undefined
  if (method === 'HEAD') return 'head'
  if (!isPackage) return 'index'
  // a log that does not tell the range counts every part
  return status === 206 && range !== undefined && !/^bytes=0-/.test(range) ? 'range' : 'download'
}

/** The path below the server, of `/x?y` and of `http://host/x`, which clients of a proxy send. */
function pathOf(target: string): string {
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '')
}

/**
 * Reads a line of nginx's combined format, with or without the quoted header Range behind it. By positions: it is
 * called for every line of logs with millions of them.
 * @returns undefined for a line that is none, or that asks for nothing there is to fetch
 */
export function parseAccessLine(line: string): Access | undefined {
  const stampAt = line.indexOf(' [') + 2
  const asked = line.indexOf('"', stampAt) + 1
  const askedEnd = line.indexOf('"', asked)
  if (stampAt < 2 || asked < 1 || askedEnd < 0 || line[stampAt + 26] !== ']') return undefined
  const method = line.slice(asked, line.indexOf(' ', asked))
  const protocol = line.lastIndexOf(' ', askedEnd)
  const target = protocol > asked + method.length ? line.slice(asked + method.length + 1, protocol) : ''
  const path = pathOf(target)
  const status = Number(line.slice(askedEnd + 2, askedEnd + 5))
  const referer = line.indexOf('"', askedEnd + 1)
  const bytes = Number(line.slice(askedEnd + 6, referer < 0 ? undefined : referer - 1))
  const agentAt = line.indexOf('"', line.indexOf('"', referer + 1) + 1) + 1
  const agentEnd = line.indexOf('"', agentAt)
  const rangeAt = line.indexOf('"', agentEnd + 1) + 1
  const range = rangeAt < 1 ? undefined : line.slice(rangeAt, line.indexOf('"', rangeAt))
  const kind = kindOf(method, status, path, range)
  const hour = hourOf(line.slice(stampAt, stampAt + 26))
  if (kind === undefined || hour === undefined || path === '' || path.length > 2_000) return undefined
  return {
    hour,
    rest: line.slice(stampAt + 15, stampAt + 20),
    address: line.slice(0, line.indexOf(' ')),
    kind,
    path,
    status,
    bytes: Number.isSafeInteger(bytes) && bytes > 0 ? bytes : 0,
    agent: referer < 0 || agentEnd < 0 ? '' : line.slice(agentAt, agentEnd),
  }
}
