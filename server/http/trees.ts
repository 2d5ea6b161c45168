import type { Context, Middleware } from 'koa'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { BASIC_CHALLENGE } from '../core/basic-challenge.ts'
import { fail } from '../core/errors.ts'
import type { FormatId } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import type { NamedTree, Place, Site } from '../formats/site.ts'
import type { KeptFile, KeptFiles } from './kept-files.ts'
import type { TreeAddress } from './kept-trees.ts'
import { createPairs } from './signed-pairs.ts'
import { sendFile, type SendFileOptions } from './send-file.ts'
import { sendJoined } from './send-joined.ts'
import { ADMISSION_PATH, answerAdmission } from './tree-admission.ts'
import { createTreeGuard, namesIn, type Admission, type TreeGuardDeps } from './tree-guard.ts'

export interface TreeDeps extends TreeGuardDeps {
  /** Where small files are remembered that anybody may fetch. */
  readonly kept: KeptFiles<TreeAddress>
  readonly layout: Pick<
    Layout,
    'live' | 'generation' | 'byHash' | 'shards' | 'publishedFolder' | 'aptPool' | 'apkKeys' | 'publicKey'
  >
  /** The public keys in binary form, for `/repos/dists/gatehouse.gpg`; undefined while there is none. */
  readonly binaryKey: () => Promise<Buffer | undefined>
}

/** The public keys, which belong to no format, are below this address. */
const KEYS = '/repos/'
const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_AGAIN = 'no-cache'

function cacheControl(isForEver: boolean, admission: Admission): string {
  if (!isForEver) return ASK_AGAIN
  return admission === 'allowed' ? FOR_EVER.replace('public', 'private') : FOR_EVER
}

/** Types that all formats share. */
const TYPES: Site['types'] = [
  [/\.gz$/, 'application/gzip'],
  [/\.xz$/, 'application/x-xz'],
  [/\.zst$/, 'application/zstd'],
  [/\.gpg$|\.asc$/, 'application/pgp-signature'],
  [/\.key$/, 'text/plain; charset=utf-8'],
]
const typeOf = (path: string, types: Site['types']): string =>
  [...types, ...TYPES].find(([pattern]) => pattern.test(path))?.[1] ?? 'application/octet-stream'

/** The path as plain segments; undefined for empty or hidden segments, `..`, encoded slashes and control characters. */
export function treeSegments(path: string): string[] | undefined {
  let segments: string[]
  try {
    segments = path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
  const isPlain = (segment: string): boolean =>
    // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
    segment !== '' && !segment.startsWith('.') && !/[/\\\u0000-\u001f]/.test(segment)
  return segments.every(isPlain) ? segments : undefined
}

/** Sends bytes that are in no file, with an ETag. */
function sendBytes(ctx: Context, bytes: Buffer, type: string): void {
  ctx.status = 200
  ctx.set('Cache-Control', ASK_AGAIN)
  ctx.etag = hash('sha256', bytes)
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.type = type
  ctx.body = bytes
}

/** A requested file, and the format it belongs to. */
interface Found {
  readonly place: Place
  readonly types: Site['types']
}

/** Finds the path of a file among the sites of all formats. */
function createFinder({
  layout,
  repositories,
  formats,
}: Pick<TreeDeps, 'layout' | 'repositories' | 'formats'>): (root: string, path: string) => Found | undefined {
  /** `jammy`, or `jammy@12` for one generation that is kept; only where the distribution is of this format. */
  const treeOf =
    (format: FormatId) =>
    (segment: string | undefined): NamedTree | undefined => {
      const [, codename = '', number] = /^([a-z0-9.-]+)(?:@([1-9]\d{0,8}))?$/.exec(segment ?? '') ?? []
      const distribution = repositories.find(codename)
      if (distribution?.format !== format) return undefined
      const n = number === undefined ? undefined : Number(number)
      const folder = n === undefined ? layout.live(distribution.codename) : layout.generation(distribution.codename, n)
      return { distribution, n, folder }
    }
  return (root, path) => {
    const segments = treeSegments(path)
    if (segments === undefined) return undefined
    if (root === KEYS && path === 'gpg.key') return { place: { paths: [layout.publicKey], forEver: false }, types: [] }
    for (const { id, site } of formats) {
      if (site?.root !== root) continue
      const place = site.place(segments, { layout, tree: treeOf(id) })
      if (place !== undefined) return { place, types: site.types }
    }
    return undefined
  }
}

/** Serves published files, and nothing else of `/repos`. */
export function createTrees({ layout, repositories, formats, binaryKey, kept, ...guarding }: TreeDeps): Middleware {
  const guard = createTreeGuard({ ...guarding, repositories, formats })
  const find = createFinder({ layout, repositories, formats })
  const roots = [...new Set([KEYS, ...formats.flatMap(({ site }) => site?.root ?? [])])]
  const pairs = createPairs({ layout, now: () => performance.now() })
  async function pathsOf({ paths, half }: Place, ctx: Context): Promise<readonly string[]> {
    if (half === undefined) return paths
    const n = await pairs.generation({ ...half, client: String(ctx.state.clientIp), agent: ctx.get('user-agent') })
    return n === undefined ? paths : [join(layout.generation(half.codename, n), half.path), ...paths]
  }

  /** Remembers a file that depends on nothing but its address: not on who asks, nor on what lies at another place. */
  function keep(ctx: Context, root: string, file: KeptFile): void {
    if (ctx.url !== ctx.path) return
    const segments = treeSegments(ctx.path.slice(root.length)) ?? []
    const named = namesIn(segments).map(name => [name, repositories.find(name)] as const)
    if (file.path === layout.publicKey || named.some(([, distribution]) => distribution !== undefined))
      kept.keep(ctx.url, { ...file, named, root })
  }

  return async (ctx, next) => {
    if (ctx.path === ADMISSION_PATH) return answerAdmission(ctx, roots, guard)
    const root = roots.find(one => ctx.path.startsWith(one) && ctx.path !== one)
    if (root === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const path = ctx.path.slice(root.length)
    ctx.state.route = root
    ctx.state.isTree = true
    if (root === KEYS && path === 'dists/gatehouse.gpg') {
      const key = await binaryKey()
      if (key === undefined) return next()
      sendBytes(ctx, key, 'application/pgp-keys')
      return
    }
    const admission = await guard(ctx, treeSegments(path) ?? [])
    if (admission === 'ask') {
      ctx.set('WWW-Authenticate', BASIC_CHALLENGE)
      return fail('private_tree', {})
    }
    if (admission === 'absent') return next()
    const found = find(root, path)
    if (found === undefined) return next()
    const { place, types } = found
    const type = path === 'gpg.key' ? 'application/pgp-keys' : typeOf(path, types)
    const options = { type, cacheControl: cacheControl(place.forEver, admission) }
    const [first = '', ...others] = await pathsOf(place, ctx)
    const mayKeep = admission === 'open' && place.half === undefined
    const remember: SendFileOptions['keep'] = (version, bytes) =>
      keep(ctx, root, { ...options, path: first, version, bytes })
    if (await sendFile(ctx, first, mayKeep ? { ...options, keep: remember } : options)) return
    for (const file of others) if (await sendFile(ctx, file, options)) return
    for (const file of [first, ...others]) if (await sendJoined(ctx, layout, { ...options, path: file })) return
    return next()
  }
}
