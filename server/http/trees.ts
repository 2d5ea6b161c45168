import type { Context, Middleware } from 'koa'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { findDistribution, type Distribution } from '../core/distributions.ts'
import { fail } from '../core/errors.ts'
import { relPath } from '../core/identity.ts'
import type { Layout } from '../files/layout.ts'
import { createPairs, type Half } from './pairs.ts'
import { sendFile } from './send-file.ts'
import { createTreeGuard, type Admission, type TreeGuardDeps } from './tree-guard.ts'

export interface TreeDeps extends TreeGuardDeps {
  readonly layout: Pick<
    Layout,
    'live' | 'generation' | 'byHash' | 'publishedFolder' | 'aptPool' | 'apkKeys' | 'publicKey'
  >
  /** The public keys in binary form, for `/repos/dists/gatehouse.gpg`; undefined while there is none. */
  readonly binaryKey: () => Promise<Buffer | undefined>
}

const REPOS = '/repos/'
const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_AGAIN = 'no-cache'

function cacheControl(isForEver: boolean, admission: Admission): string {
  if (!isForEver) return ASK_AGAIN
  return admission === 'allowed' ? FOR_EVER.replace('public', 'private') : FOR_EVER
}

const TYPES: readonly [RegExp, string][] = [
  [/\.deb$/, 'application/vnd.debian.binary-package'],
  [/\.rpm$/, 'application/x-rpm'],
  [/\.apk$/, 'application/vnd.alpine.apk'],
  [/\.gz$/, 'application/gzip'],
  [/\.xz$/, 'application/x-xz'],
  [/\.zst$/, 'application/zstd'],
  [/\.xml$/, 'application/xml'],
  [/\.gpg$|\.asc$/, 'application/pgp-signature'],
  [/\.pub$|\.key$/, 'text/plain; charset=utf-8'],
  [/(^|\/)(InRelease|Release|Packages)$/, 'text/plain; charset=utf-8'],
]
const typeOf = (path: string): string =>
  TYPES.find(([pattern]) => pattern.test(path))?.[1] ?? 'application/octet-stream'

/** The path as plain segments, or undefined for anything that tries to be clever. */
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

/** Where a file may lie, in the order in which it is looked for, and whether its name stands for its bytes. */
interface Place {
  readonly paths: readonly string[]
  readonly forEver: boolean
  readonly half?: Pick<Half, 'codename' | 'arch' | 'name'> & { readonly path: string }
}

/**
 * `jammy`, or `jammy@12` for one generation that is kept; only where the distribution is of this kind of repository.
 */
function named(
  segment: string | undefined,
  family: Distribution['family'],
): { readonly distribution: Distribution; readonly n: number | undefined } | undefined {
  const [, codename = '', n] = /^([a-z0-9.-]+)(?:@([1-9]\d{0,8}))?$/.exec(segment ?? '') ?? []
  const distribution = findDistribution(codename)
  return distribution?.family === family ? { distribution, n: n === undefined ? undefined : Number(n) } : undefined
}

function treeFolder(
  layout: TreeDeps['layout'],
  { distribution: { codename }, n }: { readonly distribution: Distribution; readonly n: number | undefined },
): string {
  return n === undefined ? layout.live(codename) : layout.generation(codename, n)
}

/** `dists/<codename>/…` and `pool/<codename>/main/…` */
function aptPlace(layout: TreeDeps['layout'], [top, first, ...rest]: readonly string[]): Place | undefined {
  // reprepro's own pool, where it writes the indexes; nothing else lies under that name
  if (top === 'pool' && first === 'main' && rest.length > 0)
    return { paths: [join(layout.aptPool, first, ...rest)], forEver: true }
  const at = named(first, 'apt')
  if (at === undefined || rest.length === 0) return undefined
  if (top === 'dists') return { paths: [join(treeFolder(layout, at), ...rest)], forEver: rest.includes('by-hash') }
  const {
    distribution: { codename, component },
    n,
  } = at
  if (top !== 'pool' || n !== undefined || rest[0] !== component) return undefined
  return { paths: [join(layout.publishedFolder(codename), ...rest.slice(1))], forEver: true }
}

/** `<codename>/<arch>/repodata/…` and `<codename>/<arch>/Packages/…` */
function rpmPlace(layout: TreeDeps['layout'], [first, arch = '', top, ...rest]: readonly string[]): Place | undefined {
  const at = named(first, 'rpm')
  if (at === undefined || rest.length === 0 || !at.distribution.archs.includes(arch)) return undefined
  const { codename } = at.distribution
  if (top === 'Packages') return { paths: [join(layout.publishedFolder(codename), ...rest)], forEver: true }
  if (top !== 'repodata' || rest.length !== 1) return undefined
  const [name = ''] = rest
  const isHashed = /^[0-9a-f]{64}-/.test(name)
  // who read the repomd of a moment ago asks for files that the live tree names no more
  const earlier = isHashed ? [join(layout.byHash(codename), arch, 'repodata', name)] : []
  const path = join(arch, 'repodata', name)
  const half =
    at.n === undefined && (name === 'repomd.xml' || name === 'repomd.xml.asc')
      ? { half: { codename, arch, name, path } as const }
      : {}
  return { paths: [join(treeFolder(layout, at), path), ...earlier], forEver: isHashed, ...half }
}

/** `<codename>/main/<arch>/APKINDEX.tar.gz`, packages beside it, and `<key_file>` */
function apkPlace(layout: TreeDeps['layout'], segments: readonly string[]): Place | undefined {
  const [first = '', component, arch = '', name = '', ...more] = segments
  if (segments.length === 1)
    return first.endsWith('.rsa.pub') ? { paths: [join(layout.apkKeys, first)], forEver: false } : undefined
  const at = named(first, 'apk')
  if (
    at === undefined ||
    more.length > 0 ||
    component !== at.distribution.component ||
    !at.distribution.archs.includes(arch)
  )
    return undefined
  if (name === 'APKINDEX.tar.gz')
    return { paths: [join(treeFolder(layout, at), component, arch, name)], forEver: false }
  if (!name.endsWith('.apk')) return undefined
  return { paths: [join(layout.publishedFolder(at.distribution.codename), relPath(name))], forEver: true }
}

/** Sends what lies in no file, with an ETag as a file has one. */
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

/** Serves what is published, and nothing else of `/repos`. The addresses are those of the contract. */
export function createTrees({ layout, binaryKey, ...guarding }: TreeDeps): Middleware {
  const guard = createTreeGuard(guarding)
  function placeOf(root: string, path: string): Place | undefined {
    const segments = treeSegments(path)
    if (segments === undefined) return undefined
    if (root !== REPOS) return apkPlace(layout, segments)
    if (path === 'gpg.key') return { paths: [layout.publicKey], forEver: false }
    return segments[0] === 'dists' || segments[0] === 'pool' ? aptPlace(layout, segments) : rpmPlace(layout, segments)
  }

  const pairs = createPairs({ layout, now: () => performance.now() })
  async function pathsOf({ paths, half }: Place, ctx: Context): Promise<readonly string[]> {
    if (half === undefined) return paths
    const n = await pairs.generation({ ...half, client: String(ctx.state.clientIp), agent: ctx.get('user-agent') })
    return n === undefined ? paths : [join(layout.generation(half.codename, n), half.path), ...paths]
  }

  return async (ctx, next) => {
    const [, root, path = ''] = /^(\/repos\/|\/apk\/)(.+)$/.exec(ctx.path) ?? []
    if (root === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    ctx.state.route = root
    if (root === REPOS && path === 'dists/gatehouse.gpg') {
      const key = await binaryKey()
      if (key === undefined) return next()
      sendBytes(ctx, key, 'application/pgp-keys')
      return
    }
    const admission = await guard(ctx, treeSegments(path) ?? [])
    if (admission === 'ask') {
      ctx.set('WWW-Authenticate', 'Basic realm="Gatehouse", charset="UTF-8"')
      return fail('private_tree', {})
    }
    if (admission === 'absent') return next()
    const place = placeOf(root, path)
    const type = path === 'gpg.key' ? 'application/pgp-keys' : typeOf(path)
    for (const file of place === undefined ? [] : await pathsOf(place, ctx))
      if (await sendFile(ctx, file, { type, cacheControl: cacheControl(place?.forEver === true, admission) })) return
    return next()
  }
}
