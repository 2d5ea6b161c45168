import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { startProgram, type Program, type ProgramOptions } from './around.ts'

/** What stands for Electron under the real preload script, in a page of chromium. */
const SHIM = `
const listeners = new Map()
window.__tell = (event, value) => { for (const hear of listeners.get(event) ?? []) hear({}, value) }
export const contextBridge = { exposeInMainWorld: (name, api) => Object.defineProperty(window, name, { value: Object.freeze(api) }) }
export const ipcRenderer = {
  invoke: (channel, ask) => window.__invoke(channel, ask),
  on: (event, hear) => listeners.set(event, [...(listeners.get(event) ?? []), hear]),
  off: (event, hear) => listeners.set(event, (listeners.get(event) ?? []).filter(one => one !== hear)),
}
export const webUtils = { getPathForFile: file => JSON.parse(sessionStorage.getItem('paths') ?? '{}')[file.name] ?? '' }
`

/** The real preload script over the stand-in for Electron, as one script. */
async function bundlePreload(): Promise<string> {
  const bundle = await rolldown({
    input: join(import.meta.dirname, '..', '..', 'electron', 'preload.ts'),
    plugins: [
      {
        name: 'stand-in',
        resolveId: id => (id === 'electron' ? '\0electron' : undefined),
        load: id => (id === '\0electron' ? SHIM : undefined),
      },
    ],
  })
  const { output } = await bundle.generate({ format: 'iife' })
  await bundle.close()
  return output[0].code
}

/** The program with chromium as its window: pages, policy, bridge and preload script are the real ones. */
export interface Harness {
  readonly program: Program
  readonly page: Page
  /** What the page complained of: refusals of the policy, errors. */
  readonly complaints: string[]
  /** The address in the window, as the program knows it. */
  shown(): string
  /** Names the paths that files of these names have. */
  know(paths: Readonly<Record<string, string>>): Promise<void>
  close(): Promise<void>
}

export interface HarnessOptions extends ProgramOptions {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
}

export async function startHarness(browser: Browser, options: HarnessOptions = {}): Promise<Harness> {
  let port = 0
  // app://<place>/ is http://<place>.localhost here: one origin for each, as in the program
  const toHttp = (url: string): string =>
    url.replace(/^app:\/\/([^/]+)/, (_, host: string) => `http://${host}.localhost:${port}`)
  const toApp = (url: string): string =>
    url.replace(/^http:\/\/([^.]+)\.localhost:\d+/, (_, host: string) => `app://${host}`)
  const shown: { page?: Page } = {}
  let going: Promise<unknown> = Promise.resolve()
  // what fails was overtaken by another page
  const load = (url: string): void => {
    going = going.then(() => shown.page?.goto(toHttp(url))).catch(() => undefined)
  }
  const program = await startProgram({
    ...options,
    around: {
      ...options.around,
      window: {
        load,
        send: (event, value) => {
          void shown.page
            ?.evaluate(
              ([name, what]) =>
                (window as unknown as { __tell?: (n: unknown, w: unknown) => void }).__tell?.(name, what),
              [event, value] as const,
            )
            .catch(() => undefined) // the page is being changed
        },
        focus: () => undefined,
        shown: () => toApp(shown.page?.url() ?? ''),
      },
    },
  })

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const place = /^([^.]+)\.localhost/.exec(incoming.headers.host ?? '')?.[1] ?? ''
    const abort = new AbortController()
    outgoing.once('close', () => abort.abort())
    const hasBody = !['GET', 'HEAD'].includes(incoming.method ?? '')
    const request = new Request(`app://${place}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: Object.entries(incoming.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      ),
      signal: abort.signal,
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' } : {}),
    } as RequestInit)
    try {
      const response = await program.desktop.respond(request)
      if (response.type === 'error') return void outgoing.destroy()
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      if (response.body === null) return void outgoing.end()
      Readable.fromWeb(response.body as WebStream<Uint8Array>)
        .once('error', () => outgoing.destroy())
        .pipe(outgoing)
    } catch {
      outgoing.destroy()
    }
  }
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port

  const context: BrowserContext = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    colorScheme: options.theme ?? 'light',
    reducedMotion: 'reduce',
  })
  await context.exposeBinding('__invoke', ({ frame }, channel: string, ask: unknown) =>
    program.desktop.message(channel, ask, toApp(frame.url())),
  )
  await context.addInitScript(await bundlePreload())
  const complaints: string[] = []
  const page = await context.newPage()
  shown.page = page
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type()) && !/Failed to load resource/.test(message.text()))
      complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(String(error)))
  await page.goto(toHttp(program.desktop.firstUrl(null)))
  return {
    program,
    page,
    complaints,
    shown: () => toApp(page.url()),
    know: paths => page.evaluate(known => sessionStorage.setItem('paths', known), JSON.stringify(paths)),
    close: async () => {
      await context.close()
      await program.close()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
