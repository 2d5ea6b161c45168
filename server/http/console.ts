import type { Context, Middleware } from 'koa'
import { extname, join } from 'node:path'
import type { SendOptions } from './file-answer.ts'
import { sendFile } from './send-file.ts'
import { treeSegments } from './trees.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

/** The console may reach only its own origin. Inline scripts and styles do not run. */
const CONSOLE_CSP = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `form-action 'none'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The compressed copies that the build writes beside its text files, the smaller first. */
const COPIES: readonly (readonly [encoding: string, ending: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
]

/** Sends the smallest form that the client takes and that the build made. @returns false when there is none at all */
async function sendSmallest(ctx: Context, path: string, options: SendOptions): Promise<boolean> {
  ctx.vary('Accept-Encoding')
  for (const [encoding, ending] of COPIES) {
    if (ctx.acceptsEncodings(encoding, 'identity') !== encoding) continue
    if (!(await sendFile(ctx, `${path}${ending}`, options))) continue
    ctx.set('Content-Encoding', encoding)
    return true
  }
  return sendFile(ctx, path, options)
}

/**
 * Serves the built console at `/`. Files under `assets/` have their hash in their name, so they may be cached for ever.
 */
export function createConsole(uiFolder: string): Middleware {
  return async (ctx, next) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next()
    const path = ctx.path === '/' ? 'index.html' : ctx.path.slice(1)
    const segments = treeSegments(path)
    const type = TYPES[extname(path)]
    if (segments === undefined || type === undefined) return next()
    ctx.state.route = '/'
    ctx.set('Content-Security-Policy', CONSOLE_CSP)
    const cacheControl = segments[0] === 'assets' ? 'public, max-age=31536000, immutable' : 'no-cache'
    if (await sendSmallest(ctx, join(uiFolder, ...segments), { type, cacheControl })) return
    if (ctx.path !== '/') return next()
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = 'Gatehouse runs. Its console is not built: run npm run build, then reload.\n'
  }
}
