import type { Middleware } from 'koa'
import { join } from 'node:path'
import type { Layout } from '../files/layout.ts'
import { sendFile } from './send-file.ts'

export interface TreeDeps {
  readonly layout: Pick<Layout, 'apt' | 'publicKey'>
  /** The public keys in binary form, for `/repos/dists/gatehouse.gpg`; undefined while there is none. */
  readonly binaryKey: () => Promise<Buffer | undefined>
}

const ROOTS = new Set(['dists', 'pool'])
const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_AGAIN = 'no-cache'

/** What names its own bytes is good for ever; what a publication replaces must be asked for each time. */
function cacheControl(segments: readonly string[]): string {
  return segments[0] === 'pool' || segments.includes('by-hash') ? FOR_EVER : ASK_AGAIN
}

const TYPES: readonly [RegExp, string][] = [
  [/\.deb$/, 'application/vnd.debian.binary-package'], [/\.rpm$/, 'application/x-rpm'], [/\.gz$/, 'application/gzip'], [/\.xz$/, 'application/x-xz'],
  [/\.zst$/, 'application/zstd'], [/\.gpg$|\.asc$/, 'application/pgp-signature'], [/(^|\/)(InRelease|Release|Packages)$/, 'text/plain; charset=utf-8'],
]
const typeOf = (path: string): string => TYPES.find(([pattern]) => pattern.test(path))?.[1] ?? 'application/octet-stream'

/** The path below `/repos/` as plain segments, or undefined for anything that tries to be clever. */
export function treeSegments(path: string): string[] | undefined {
  let segments: string[]
  try {
    segments = path.split('/').map(decodeURIComponent)
  } catch {
    return undefined
  }
  // eslint-disable-next-line no-control-regex -- control characters are exactly what is refused here
  const isPlain = (segment: string): boolean => segment !== '' && !segment.startsWith('.') && !/[/\\\u0000-\u001f]/.test(segment)
  return segments.every(isPlain) ? segments : undefined
}

/** Serves what is published, and nothing else of `/repos`. */
export function createTrees({ layout, binaryKey }: TreeDeps): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/repos/') || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    ctx.state.route = '/repos/'
    const path = ctx.path.slice('/repos/'.length)
    if (path === 'gpg.key' && await sendFile(ctx, layout.publicKey, { type: 'application/pgp-keys', cacheControl: ASK_AGAIN })) return
    if (path === 'dists/gatehouse.gpg') {
      const key = await binaryKey()
      if (key === undefined) return next()
      ctx.set('Cache-Control', ASK_AGAIN)
      ctx.type = 'application/pgp-keys'
      ctx.body = key
      return
    }
    const segments = treeSegments(path)
    if (segments === undefined || !ROOTS.has(segments[0] ?? '')) return next()
    const target = join(layout.apt, ...segments)
    if (!await sendFile(ctx, target, { type: typeOf(path), cacheControl: cacheControl(segments) })) return next()
  }
}
