import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock, Shell } from './ports.ts'
import { Refusal } from './refusal.ts'

/** What a sign-in in the browser ended with: what the page exchanges for a session, or a word. */
export type BrowserAnswer = { readonly code: string; readonly verifier: string } | { readonly word: string }

/**
 * Single sign-on in the system's browser, which comes back to this program on 127.0.0.1 (RFC 8252). The code that comes
 * is worth nothing without the verifier, which never leaves the program but to the appliance (RFC 7636).
 */
export interface BrowserSignIn {
  /** Opens the browser and waits. One that waits already is stopped. @throws Refusal `no_browser` */
  begin(origin: string): Promise<BrowserAnswer>
  /** Stops waiting. */
  end(): void
}

interface Needs {
  readonly shell: Pick<Shell, 'openExternal'>
  readonly clock: Clock
  readonly focus: () => void
}

/** As long as the server remembers a trip. */
const PATIENCE_MS = 600_000
const random = (): string => randomBytes(32).toString('base64url')
const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

const PAGE = (said: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse</title><p>${said}</p></html>`
function reply(outgoing: ServerResponse, status: number, said: string): void {
  outgoing
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'connection': 'close',
    })
    .end(PAGE(said))
}

/** What the browser brought; undefined where it is not the answer that is waited for. */
function readBack({ method, url, headers }: IncomingMessage, port: number, state: string): URLSearchParams | undefined {
  // by its number only: a name could be led here by somebody else
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}` || url?.startsWith('/back?') !== true) return undefined
  const query = new URL(url, 'http://127.0.0.1').searchParams
  return isSame(query.get('state') ?? '', state) ? query : undefined
}

export function createBrowserSignIn({ shell, clock, focus }: Needs): BrowserSignIn {
  let stop: ((word: string) => void) | undefined

  async function begin(origin: string): Promise<BrowserAnswer> {
    stop?.('stopped')
    const [state, verifier] = [random(), random()]
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
    const { port } = server.address() as AddressInfo
    const answered = new Promise<BrowserAnswer>(resolve => {
      const end = (answer: BrowserAnswer): void => {
        noLonger()
        if (stop === mine) stop = undefined
        server.close()
        resolve(answer)
      }
      const noLonger = clock.after(PATIENCE_MS, () => end({ word: 'late' }))
      const mine = (word: string): void => end({ word })
      stop = mine
      server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
        const query = readBack(incoming, port, state)
        if (query === undefined) return reply(outgoing, 404, 'Nothing is waited for here.')
        const [code, word] = [query.get('sso') ?? '', query.get('sso_error') ?? '']
        const isCode = /^[\w-]{43}$/.test(code)
        reply(
          outgoing,
          200,
          isCode ? 'You may close this window and go back to Gatehouse.' : 'This did not succeed. Gatehouse says why.',
        )
        focus()
        end(isCode ? { code, verifier } : { word: /^[a-z_]{1,40}$/.test(word) ? word : 'refused' })
      })
    })
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const query = new URLSearchParams({ port: String(port), challenge, state })
    try {
      await shell.openExternal(`${origin}/api/v1/auth/oidc/login?${query.toString()}`)
    } catch (error) {
      stop?.('stopped')
      await answered
      throw new Refusal(
        'no_browser',
        'The browser of this system was not opened. Set a default browser, or sign in with a password.',
        error,
      )
    }
    return answered
  }
  return { begin, end: () => stop?.('stopped') }
}
