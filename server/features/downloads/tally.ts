import { isIP } from 'node:net'
import { clientOf, parseAccessLine, type Access, type ClientType, type RequestKind } from './access-log.ts'
import { REGISTRY_ROOTS } from './registry-paths.ts'

/** Downloads of one file by one client in one day. */
export interface FileCount {
  readonly day: string
  readonly path: string
  readonly address: string
  readonly client: ClientType
  downloads: number
  bytes: number
}

/** Requests of one kind in one day that are no downloads. */
export interface OtherCount {
  readonly day: string
  readonly kind: RequestKind
  /** The distribution or registry as the path names it; empty where it names none. */
  readonly codename: string
  requests: number
  bytes: number
}

export interface Tally {
  /** Counts the lines of a block; what is no request of a tree or a registry is passed over. */
  add(block: string): void
  /** Counts requests of these paths with index files: they give no package. */
  leaveOut(paths: ReadonlySet<string>): void
  readonly files: readonly FileCount[]
  readonly others: readonly OtherCount[]
  /** The last downloads of each distribution and registry, oldest first. */
  readonly recent: readonly Access[]
  /** Lines that could not be read. */
  readonly unread: number
}

/** So many of the last downloads of each distribution are shown, and kept. */
export const RECENT = 50
/** So many are remembered until their paths are named: most of what a build of Maven reads is no download. */
const REMEMBERED = 40 * RECENT

/** What an address is in a log that does not tell: behind a socket, for example. */
const NOBODY = '0.0.0.0'

/**
 * `/repos/pool/jammy/…`, `/repos/dists/jammy/…`, `/repos/almalinux9/…`, `/apk/alpine3.20/…`, also with `@12`, and
 * `/npm/ours/…`.
 */
const CODENAME = new RegExp(
  String.raw`^/(?:repos/(?:pool/|dists/)?|apk/|${REGISTRY_ROOTS.join('|')})([a-z0-9.-]+)(?:@\d+)?/`,
)

/** The distribution or registry that a path names; empty where it names none. */
export function codenameIn(path: string, isCodename: (text: string) => boolean): string {
  const [, name = ''] = CODENAME.exec(path) ?? []
  return isCodename(name) ? name : ''
}

/** @param isCodename  whether there is a distribution or registry of this name */
export function createTally(isCodename: (text: string) => boolean): Tally {
  const files = new Map<string, FileCount>()
  const others = new Map<string, OtherCount>()
  const recent = new Map<string, Access[]>()
  const clients = new Map<string, ClientType>()
  let unread = 0

  const codenameOf = (path: string): string => codenameIn(path, isCodename)
  function clientBy(agent: string): ClientType {
    const known = clients.get(agent)
    if (known !== undefined) return known
    if (clients.size > 1_000) clients.clear()
    const client = clientOf(agent)
    clients.set(agent, client)
    return client
  }

  function addDownload(access: Access): void {
    const { path, address: said, agent, bytes } = access
    const day = access.hour.slice(0, 10)
    const client = clientBy(agent)
    const key = `${day} ${path} ${said} ${client}`
    const known = files.get(key)
    if (known === undefined) {
      const address = isIP(said) === 0 ? NOBODY : said
      files.set(key, { day, path, address, client, downloads: 1, bytes })
    } else {
      known.downloads++
      known.bytes += bytes
    }
    const codename = codenameOf(path)
    const last = recent.get(codename) ?? []
    last.push(access)
    if (last.length > REMEMBERED) last.splice(0, REMEMBERED / 2)
    recent.set(codename, last)
  }

  function addOther(
    day: string,
    kind: RequestKind,
    { path, bytes, requests }: { readonly path: string; readonly bytes: number; readonly requests: number },
  ): void {
    const codename = codenameOf(path)
    const key = `${day} ${kind} ${codename}`
    const known = others.get(key) ?? { day, kind, codename, requests: 0, bytes: 0 }
    others.set(key, known)
    known.requests += requests
    known.bytes += bytes
  }

  return {
    add(block) {
      for (let at = 0, end = block.indexOf('\n'); end >= 0; at = end + 1, end = block.indexOf('\n', at)) {
        const access = parseAccessLine(block.slice(at, end))
        if (access === undefined) unread++
        else if (access.kind === 'download') addDownload(access)
        else addOther(access.hour.slice(0, 10), access.kind, { path: access.path, bytes: access.bytes, requests: 1 })
      }
    },
    leaveOut(paths) {
      if (paths.size === 0) return
      for (const [key, { day, path, downloads, bytes }] of files)
        if (paths.has(path)) {
          files.delete(key)
          addOther(day, 'index', { path, bytes, requests: downloads })
        }
      for (const [codename, last] of recent)
        recent.set(
          codename,
          last.filter(({ path }) => !paths.has(path)),
        )
    },
    get files() {
      return [...files.values()]
    },
    get others() {
      return [...others.values()]
    },
    get recent() {
      return [...recent.values()].flatMap(last => last.slice(-RECENT))
    },
    get unread() {
      return unread
    },
  }
}
