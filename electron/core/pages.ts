import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Appliances } from './appliances.ts'
import { forward, isForwarded } from './forward.ts'

/** The scheme of the program's own pages. */
export const SCHEME = 'app'
/** The page with all appliances. */
export const HOME = 'home'

/** Whose page an address is: `app://home/` or `app://<id>/`; undefined for every other. */
export function placeOf(
  url: string,
): { readonly at: 'home' } | { readonly at: 'appliance'; readonly id: string } | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, host } = new URL(url)
  if (protocol !== `${SCHEME}:`) return undefined
  if (host === HOME) return { at: 'home' }
  return /^a[0-9a-f]{12}$/.test(host) ? { at: 'appliance', id: host } : undefined
}
export const homeUrl = (hash = ''): string => `${SCHEME}://${HOME}/${hash}`
export const applianceUrl = (id: string, hash = ''): string => `${SCHEME}://${id}/${hash}`

/** The page reaches its own origin and nothing else, and runs the program's own files and nothing else. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}
const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=(), clipboard-write=()',
  'cache-control': 'no-store',
}

const notFound = (): Response => new Response('There is no such page.', { status: 404, headers: HEADERS })

/** Answers every request of the program's pages. */
export interface Pages {
  respond(request: Request): Promise<Response>
}

/** @param folder  the console's build; only files that are in it at the start are served */
export async function openPages(folder: string, appliances: Appliances): Promise<Pages> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = new Set(
    entries
      .filter(entry => entry.isFile() && TYPES[extname(entry.name)] !== undefined)
      .map(entry => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/')),
  )
  async function serve(path: string): Promise<Response> {
    const name = path === '/' ? '/index.html' : path
    if (!files.has(name)) return notFound()
    return new Response(new Uint8Array(await readFile(join(folder, name))), {
      headers: { ...HEADERS, 'content-type': TYPES[extname(name)] ?? 'application/octet-stream' },
    })
  }
  return {
    respond: request => {
      const place = placeOf(request.url)
      const { pathname } = new URL(request.url)
      if (place === undefined) return Promise.resolve(notFound())
      if (isForwarded(pathname))
        return place.at === 'appliance' ? forward(appliances, place.id, request) : Promise.resolve(notFound())
      if (request.method !== 'GET') return Promise.resolve(new Response('Only GET.', { status: 405, headers: HEADERS }))
      return serve(pathname)
    },
  }
}
