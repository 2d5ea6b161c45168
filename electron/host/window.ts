import { BrowserWindow, screen } from 'electron'
import type { Kept } from '../core/kept.ts'
import { placeOf } from '../core/pages.ts'
import type { WindowPort } from '../core/ports.ts'
import { fitToScreens, type WindowPlace } from '../core/window-place.ts'

/** The one window, and the port to it. */
export interface MainWindow {
  readonly port: WindowPort
  readonly window: () => BrowserWindow | undefined
  open(url: string): void
}

interface WindowNeeds {
  readonly preload: string
  readonly place: Kept<WindowPlace>
  readonly hasDevTools: boolean
}

function createWindow({ preload, place, hasDevTools }: WindowNeeds): BrowserWindow {
  const areas = screen.getAllDisplays().map(({ workArea }) => workArea)
  return new BrowserWindow({
    ...fitToScreens(place.value, areas),
    minWidth: 480,
    minHeight: 480,
    show: false,
    autoHideMenuBar: true,
    webPreferences: {
      preload,
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      webviewTag: false,
      navigateOnDragDrop: false,
      spellcheck: false,
      devTools: hasDevTools,
    },
  })
}

/** Remembers where the window is and what it shows. */
function remember(window: BrowserWindow, place: Kept<WindowPlace>): void {
  const keep = (): void => {
    const shown = placeOf(window.webContents.getURL())
    const isMaximised = window.isMaximized()
    void place
      .set({
        ...(isMaximised ? place.value : window.getNormalBounds()),
        isMaximised,
        appliance: shown?.at === 'appliance' ? shown.id : null,
      })
      .catch(() => undefined) // the next start begins as the first did
  }
  window.on('close', keep)
  window.webContents.on('did-navigate', keep)
}

export function createMainWindow(needs: WindowNeeds): MainWindow {
  let window: BrowserWindow | undefined

  function open(url: string): void {
    const created = createWindow(needs)
    window = created
    if (needs.place.value.isMaximised) created.maximize()
    remember(created, needs.place)
    created.once('ready-to-show', () => created.show())
    created.on('closed', () => {
      window = undefined
    })
    void created.loadURL(url)
  }
  return {
    open,
    window: () => window,
    port: {
      load: url => {
        if (window === undefined) open(url)
        else void window.loadURL(url).catch(() => undefined) // another page was asked for meanwhile
      },
      send: (event, value) => window?.webContents.send(event, value),
      focus: () => {
        if (window?.isMinimized() === true) window.restore()
        window?.show()
        window?.focus()
      },
      shown: () => window?.webContents.getURL() ?? '',
    },
  }
}
