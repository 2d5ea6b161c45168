import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ADD_FILES, CHANNELS, EVENTS } from '../../electron/core/channels.ts'
import type { DesktopBridge } from '../../electron/core/bridge.ts'
import { WORDS } from '../../electron/core/words.ts'
import { createFakeElectron, type FakeElectron } from './fake-electron.ts'

let fake: FakeElectron
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-host-'))
  process.env.FAKE_ELECTRON_FOLDER = folder
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(() => {
  fake = createFakeElectron()
  vi.resetModules()
  // the binary is not on every machine, and importing the package would try to fetch it
  vi.doMock('electron', () => fake.exports)
  // nobody's own keychain is written to
  vi.doMock('keytar', () => {
    throw new Error('there is none in this test')
  })
  vi.doMock('../../electron/core/pages.ts', async importOriginal => ({
    ...(await importOriginal<typeof import('../../electron/core/pages.ts')>()),
    openPages: () => Promise.resolve({ respond: () => Promise.resolve(new Response()) }),
  }))
})
const called = (name: string): readonly unknown[][] =>
  fake.calls.filter(call => call.name === name).map(({ args }) => [...args])

describe('the preload script', () => {
  const load = async (): Promise<DesktopBridge> => {
    await import('../../electron/preload.ts')
    return fake.exposed.get('gatehouse') as DesktopBridge
  }

  test('gives the page three functions and nothing of Electron', async () => {
    const bridge = await load()
    expect([...fake.exposed.keys()]).toEqual(['gatehouse'])
    expect(Object.entries(bridge).map(([name, value]) => [name, typeof value])).toEqual([
      ['invoke', 'function'],
      ['on', 'function'],
      ['addFiles', 'function'],
    ])
  })

  test('lets the channels of the list through, and no other', async () => {
    const bridge = await load()
    for (const channel of CHANNELS) await bridge.invoke(channel, {} as never)
    expect(fake.invoked.map(({ channel }) => channel)).toEqual([...CHANNELS])
    for (const channel of [ADD_FILES, 'shell.open', '__proto__', 'constructor', '', 'ELECTRON_BROWSER_REQUIRE'])
      expect(await bridge.invoke(channel as never, {} as never)).toMatchObject({ ok: false, code: 'unknown_channel' })
    expect(fake.invoked).toHaveLength(CHANNELS.length)
  })

  test('hands events on without the object through which Electron would be reached', async () => {
    const bridge = await load()
    const heard: unknown[][] = []
    const stop = bridge.on('page.go', ((...args: unknown[]) => heard.push(args)) as never)
    fake.ipc.emit('page.go', { sender: 'secret' }, { hash: '#/x' })
    stop()
    fake.ipc.emit('page.go', {}, { hash: '#/y' })
    bridge.on('console-message' as never, (() => heard.push(['wrong'])) as never)
    fake.ipc.emit('console-message', {}, {})
    expect(heard).toEqual([[{ hash: '#/x' }]])
    expect(EVENTS.every(event => fake.ipc.listenerCount(event) === 0)).toBe(true)
  })

  test('reads paths from files alone; the page can name none', async () => {
    const bridge = await load()
    const form = { distribution: 'jammy', component: '' }
    const files = [new File(['x'], 'disk.deb'), new File(['x'], 'memory.deb')].map(file => ({
      file,
      format: 'deb',
      form,
    }))
    expect(await bridge.addFiles(files)).toEqual({ ok: true, value: { left: [1] } })
    expect(fake.invoked).toEqual([
      { channel: ADD_FILES, ask: { files: [{ path: '/files/disk.deb', format: 'deb', form }] } },
    ])
  })
})

describe('the main program', () => {
  const start = async (): Promise<FakeElectron['windows'][number]> => {
    await import('../../electron/main.ts')
    await vi.waitFor(() => expect(fake.windows).toHaveLength(1), 20_000)
    const [window] = fake.windows
    if (window === undefined) throw new Error('no window')
    return window
  }

  test('ends when another one runs, before it opens, registers or answers anything', async () => {
    fake.isFirst = false
    await import('../../electron/main.ts')
    expect(called('quit')).toEqual([[]])
    expect(fake.calls.map(({ name }) => name)).toEqual(['quit'])
    expect([fake.windows, [...fake.handlers]]).toEqual([[], []])
  })

  test('opens one window, closed to everything that is not its own', async () => {
    const window = await start()
    expect(window.loaded).toEqual(['app://home/'])
    expect(window.options.webPreferences).toMatchObject({
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      webviewTag: false,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      navigateOnDragDrop: false,
      spellcheck: false,
      devTools: false,
    })
    // before the program is ready, and once
    const names = fake.calls.map(({ name }) => name)
    expect(names.indexOf('enableSandbox')).toBeLessThan(names.indexOf('protocol.handle'))
    expect(called('registerSchemesAsPrivileged')).toEqual([
      [
        [
          {
            scheme: 'app',
            privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true, codeCache: true },
          },
        ],
      ],
    ])
    expect(called('protocol.handle')[0]?.[0]).toBe('app')
    expect(called('setAsDefaultProtocolClient')).toEqual([['gatehouse']])
    expect([...fake.handlers.keys()].sort()).toEqual([...CHANNELS, ADD_FILES].sort())
    await checkFence(window)
  }, 60_000)

  /** What a page tries, and what becomes of it. */
  async function checkFence({ contents }: FakeElectron['windows'][number]): Promise<void> {
    const tried = (event: string, facts: object = {}): boolean => {
      let isStopped = false
      contents.emit(event, { ...facts, preventDefault: () => (isStopped = true) })
      return isStopped
    }
    expect(tried('will-attach-webview')).toBe(true)
    expect(tried('will-redirect')).toBe(true)
    expect(tried('will-frame-navigate', { isMainFrame: false })).toBe(true)
    for (const url of [
      'https://evil.example/',
      'file:///etc/passwd',
      'app://a0123456789ab/',
      'app://home/other.html',
      'javascript:alert(1)',
      'data:text/html,x',
    ])
      expect(tried('will-navigate', { url }), url).toBe(true)
    expect(tried('will-navigate', { url: 'app://home/#/list' })).toBe(false)
    for (const url of ['https://evil.example/', 'file:///etc/passwd', 'app://home/'])
      expect(contents.opened?.({ url })).toEqual({ action: 'deny' })
    expect(called('openExternal')).toEqual([])
    contents.opened?.({ url: 'https://nvd.nist.gov/vuln/detail/CVE-2024-6387' })
    expect(called('openExternal')).toEqual([['https://nvd.nist.gov/vuln/detail/CVE-2024-6387']])

    type Answer = (contents: unknown, permission: string, answer: (may: boolean) => void) => void
    const permissions: boolean[] = []
    const ask = called('setPermissionRequestHandler')[0]?.[0] as Answer
    for (const permission of ['media', 'geolocation', 'notifications', 'clipboard-read', 'openExternal', 'hid'])
      ask(undefined, permission, may => permissions.push(may))
    expect(permissions).toEqual(Array.from({ length: 6 }, () => false))
    expect((called('setPermissionCheckHandler')[0]?.[0] as () => boolean)()).toBe(false)
    expect((called('setDevicePermissionHandler')[0]?.[0] as () => boolean)()).toBe(false)
    let verdict = 0
    ;(called('setCertificateVerifyProc')[0]?.[0] as (request: unknown, answer: (code: number) => void) => void)(
      {},
      code => {
        verdict = code
      },
    )
    expect(verdict).toBe(-2)
    const cancelled = (url: string): boolean | undefined => {
      let cancel: boolean | undefined
      ;(
        called('onBeforeRequest')[0]?.[0] as (
          details: { url: string },
          answer: (say: { cancel: boolean }) => void,
        ) => void
      )({ url }, say => {
        cancel = say.cancel
      })
      return cancel
    }
    expect(['https://evil.example/', 'http://127.0.0.1/', 'file:///etc/passwd', 'ws://x/'].map(cancelled)).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(['app://home/', 'blob:app://home/1', 'data:,x'].map(cancelled)).toEqual([false, false, false])

    const describeHost = fake.handlers.get('host.describe')
    const from = (url: string, parent: unknown = null) =>
      describeHost?.({ senderFrame: { url, parent } }, {}) as Promise<unknown>
    expect(await from('app://home/')).toMatchObject({ ok: true })
    expect(await from('https://evil.example/')).toMatchObject({ ok: false, code: 'foreign_page' })
    expect(await from('app://home/', {})).toMatchObject({ ok: false, code: 'foreign_page' })
    expect(await (describeHost?.({ senderFrame: null }, {}) as Promise<unknown>)).toMatchObject({ ok: false })

    const told = { ...WORDS, view: 'Ansicht', quit: 'Gatehouse beenden' }
    await (fake.handlers.get('host.words')?.(
      { senderFrame: { url: 'app://home/', parent: null } },
      told,
    ) as Promise<unknown>)
    const menu = JSON.stringify(called('setApplicationMenu').at(-1))
    for (const word of ['Ansicht', 'Gatehouse beenden', 'All appliances']) expect(menu).toContain(`"label":"${word}"`)

    // a second start hands its words over: a link opens, a word that is none does nothing
    const [window] = fake.windows
    fake.app.emit('second-instance', {}, ['/opt/Gatehouse/gatehouse', 'gatehouse://10.20.0.31?token=K7MQ'])
    expect(window?.loaded.at(-1)).toBe('app://home/#/add?address=gatehouse%3A%2F%2F10.20.0.31')
    fake.app.emit('second-instance', {}, ['/opt/Gatehouse/gatehouse', '--no-sandbox', 'https://evil.example/'])
    expect(window?.loaded.at(-1)).toBe('app://home/#/add?address=gatehouse%3A%2F%2F10.20.0.31')
    window?.events.emit('close')
    await vi.waitFor(async () =>
      expect(JSON.parse(await readFile(join(folder, 'userData', 'window.json'), 'utf8'))).toMatchObject({
        x: 1,
        y: 2,
        width: 900,
        height: 700,
      }),
    )
  }
})

describe('the file that the system encrypts', () => {
  const open = async () => {
    const { encryptedFile } = await import('../../electron/host/encrypted-file.ts')
    return encryptedFile(join(folder, 'secrets.json')).open()
  }
  test('holds no plain text', async () => {
    const store = await open()
    await store.set('session.a1', 'token-in-plain-text')
    expect(await readFile(join(folder, 'secrets.json'), 'utf8')).not.toContain('token-in-plain-text')
    expect(await (await open()).find('session.a1')).toBe('token-in-plain-text')
    await store.remove('session.a1')
    expect(await store.find('session.a1')).toBeUndefined()
  })
  test.each(['basic_text', 'unknown'] as const)('is refused where everybody knows its key: %s', async backend => {
    fake.backend = backend
    await expect(open()).rejects.toThrow(/a key that everybody knows/)
  })
})
