import { EventEmitter } from 'node:events'
import type * as Electron from 'electron'

/**
 * A stand-in for the `electron` package, where its program cannot be had. Each part is checked against Electron's own
 * types: what it takes and gives back is what they say, or this file does not compile.
 */
type Like<T, Keys extends keyof T> = {
  readonly [K in Keys]: T[K] extends (...args: infer A) => infer R ? (...args: A) => R : T[K]
}

export interface FakeElectron {
  readonly calls: { readonly name: string; readonly args: readonly unknown[] }[]
  readonly handlers: Map<
    string,
    (event: { senderFrame: { url: string; parent: unknown } | null }, ask: unknown) => unknown
  >
  readonly exports: Readonly<Record<string, unknown>>
  readonly windows: FakeWindow[]
  readonly app: EventEmitter
  readonly ipc: EventEmitter
  readonly invoked: { readonly channel: string; readonly ask: unknown }[]
  readonly exposed: Map<string, unknown>
  readonly session: Like<
    Electron.Session,
    | 'setPermissionRequestHandler'
    | 'setPermissionCheckHandler'
    | 'setDevicePermissionHandler'
    | 'setCertificateVerifyProc'
    | 'setSpellCheckerEnabled'
  >
  backend: ReturnType<Electron.SafeStorage['getSelectedStorageBackend']>
  /** False: another one runs already. */
  isFirst: boolean
}

export interface FakeWindow {
  readonly options: Electron.BrowserWindowConstructorOptions
  readonly contents: EventEmitter & { opened?: (details: { url: string }) => { action: string } }
  readonly loaded: string[]
  readonly sent: { readonly event: string; readonly value: unknown }[]
  readonly events: EventEmitter
}

export function createFakeElectron(): FakeElectron {
  const calls: FakeElectron['calls'] = []
  const note =
    (name: string) =>
    (...args: readonly unknown[]): undefined => {
      calls.push({ name, args })
      return undefined
    }
  const windows: FakeWindow[] = []
  const app = new EventEmitter()
  const ipc = new EventEmitter()
  const handlers: FakeElectron['handlers'] = new Map()
  const invoked: FakeElectron['invoked'] = []
  const exposed = new Map<string, unknown>()
  const state = { backend: 'gnome_libsecret' as FakeElectron['backend'], isFirst: true }

  const session = {
    setPermissionRequestHandler: note('setPermissionRequestHandler'),
    setPermissionCheckHandler: note('setPermissionCheckHandler'),
    setDevicePermissionHandler: note('setDevicePermissionHandler'),
    setCertificateVerifyProc: note('setCertificateVerifyProc'),
    setSpellCheckerEnabled: note('setSpellCheckerEnabled'),
    webRequest: { onBeforeRequest: note('onBeforeRequest') },
  } satisfies Like<Electron.Session, 'setSpellCheckerEnabled' | 'setCertificateVerifyProc'> & Record<string, unknown>

  class BrowserWindow extends EventEmitter {
    readonly webContents: unknown
    constructor(options: Electron.BrowserWindowConstructorOptions) {
      super()
      const contents = new EventEmitter() as FakeWindow['contents']
      const made: FakeWindow = { options, contents, loaded: [], sent: [], events: this }
      this.webContents = Object.assign(contents, {
        getURL: () => made.loaded.at(-1) ?? '',
        send: (event: string, value: unknown) => made.sent.push({ event, value }),
        setWindowOpenHandler: (open: FakeWindow['contents']['opened']) => Object.assign(contents, { opened: open }),
      })
      windows.push(made)
      this.loadURL = url => {
        made.loaded.push(url)
        contents.emit('did-navigate')
        return Promise.resolve()
      }
      app.emit('web-contents-created', {}, contents)
    }
    loadURL: Electron.BrowserWindow['loadURL']
    show = note('show')
    focus = note('focus')
    maximize = note('maximize')
    restore = note('restore')
    isMinimized: Electron.BrowserWindow['isMinimized'] = () => false
    isMaximized: Electron.BrowserWindow['isMaximized'] = () => false
    getNormalBounds: Electron.BrowserWindow['getNormalBounds'] = () => ({ x: 1, y: 2, width: 900, height: 700 })
  }
  class Tray extends EventEmitter {
    setToolTip = note('tray.setToolTip')
    setTitle = note('tray.setTitle')
    setContextMenu = note('tray.setContextMenu')
  }
  class Notification extends EventEmitter {
    static isSupported: (typeof Electron.Notification)['isSupported'] = () => true
    show = note('notification.show')
  }
  const safeStorage: Like<
    Electron.SafeStorage,
    'isAsyncEncryptionAvailable' | 'encryptStringAsync' | 'decryptStringAsync' | 'getSelectedStorageBackend'
  > = {
    isAsyncEncryptionAvailable: () => Promise.resolve(true),
    encryptStringAsync: text => Promise.resolve(Buffer.from(`sealed ${text}`)),
    decryptStringAsync: sealed =>
      Promise.resolve({ result: sealed.toString().replace(/^sealed /, ''), shouldReEncrypt: false }),
    getSelectedStorageBackend: () => state.backend,
  }
  const clipboard: Like<Electron.Clipboard, 'readText' | 'writeText'> = {
    readText: () => Promise.resolve(''),
    writeText: note('clipboard.writeText') as never,
  }
  return Object.assign(state, {
    ...{ calls, handlers, windows, app, ipc, invoked, exposed, session: session as FakeElectron['session'] },
    exports: {
      app: Object.assign(app, {
        requestSingleInstanceLock: () => state.isFirst,
        enableSandbox: note('enableSandbox'),
        setAppUserModelId: note('setAppUserModelId'),
        setAsDefaultProtocolClient: note('setAsDefaultProtocolClient'),
        setBadgeCount: note('setBadgeCount'),
        getPath: (name: string) => `${process.env.FAKE_ELECTRON_FOLDER ?? '/nonexistent'}/${name}`,
        getVersion: () => '0.2.0',
        isPackaged: true,
        quit: note('quit'),
        whenReady: () => Promise.resolve(),
      }),
      BrowserWindow,
      Tray,
      Notification,
      Menu: { setApplicationMenu: note('setApplicationMenu'), buildFromTemplate: (template: unknown) => template },
      nativeImage: { createFromPath: (path: string) => path },
      screen: { getAllDisplays: () => [{ workArea: { x: 0, y: 0, width: 1920, height: 1080 } }] },
      session: { defaultSession: session },
      protocol: { registerSchemesAsPrivileged: note('registerSchemesAsPrivileged'), handle: note('protocol.handle') },
      powerMonitor: new EventEmitter(),
      dialog: { showSaveDialog: () => Promise.resolve({ canceled: true, filePath: '' }), showMessageBoxSync: () => 0 },
      shell: {
        openExternal: (url: string) => Promise.resolve(note('openExternal')(url)),
        showItemInFolder: note('showItemInFolder'),
      },
      clipboard,
      safeStorage,
      ipcMain: { handle: (channel: string, handler: never) => handlers.set(channel, handler) },
      ipcRenderer: Object.assign(ipc, {
        invoke: (channel: string, ask: unknown) => {
          invoked.push({ channel, ask })
          return Promise.resolve({ ok: true, value: {} })
        },
      }),
      contextBridge: { exposeInMainWorld: (name: string, api: unknown) => exposed.set(name, api) },
      webUtils: { getPathForFile: (file: File) => (file.name.startsWith('disk') ? `/files/${file.name}` : '') },
    },
  })
}
