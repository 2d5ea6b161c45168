import { join } from 'node:path'
import { app, powerMonitor, protocol, session } from 'electron'
import { filesIn, linkIn } from './core/deep-links.ts'
import { createDesktop, type Desktop } from './core/desktop.ts'
import { openKept } from './core/kept.ts'
import { SCHEME } from './core/pages.ts'
import { openSecrets } from './core/secrets.ts'
import { systemCertificates } from './core/trust.ts'
import { FIRST_PLACE, WindowPlaceSchema } from './core/window-place.ts'
import { BUILD } from './host/build.ts'
import { encryptedFile } from './host/encrypted-file.ts'
import { fenceContents, fenceSession } from './host/fence.ts'
import { answerPages } from './host/ipc.ts'
import { keychain } from './host/keychain.ts'
import { createTray, showMenu } from './host/menu.ts'
import { clock, fileDialog, openLog, systemNotify, systemShell } from './host/system.ts'
import { createMainWindow } from './host/window.ts'

/** The desktop program: Electron around electron/core/. Everything here is wiring. */
const here = import.meta.dirname
let desktop: Desktop | undefined
/** Links and files that came before the program was ready. */
const early: { link?: string | undefined; files: string[] } = { files: [] }

function openLink(link: string): void {
  if (desktop === undefined) early.link = link
  else desktop.openLink(link)
}
function openFiles(files: readonly string[]): void {
  if (desktop === undefined) early.files.push(...files)
  else desktop.openFiles(files)
}

async function start(): Promise<void> {
  const folder = app.getPath('userData')
  const log = openLog(join(folder, 'logs', 'desktop.log'))
  const place = await openKept(join(folder, 'window.json'), WindowPlaceSchema, FIRST_PLACE)
  const hasDevTools = !app.isPackaged
  const main = createMainWindow({ preload: join(here, 'preload.cjs'), place, hasDevTools })
  fenceSession(session.defaultSession)
  const made = await createDesktop({
    folder,
    pages: join(here, 'ui'),
    version: app.getVersion(),
    platform: `${process.platform}-${process.arch}`,
    clock,
    log,
    shell: systemShell,
    notify: systemNotify,
    dialog: fileDialog,
    tray: createTray(join(here, 'icons', 'tray.png'), () => main.port.focus()),
    window: main.port,
    secrets: await openSecrets([keychain, encryptedFile(join(folder, 'secrets.json'))]),
    system: systemCertificates,
    downloads: app.getPath('downloads'),
    releaseKey: BUILD.releaseKey,
  })
  desktop = made
  protocol.handle(SCHEME, request => made.respond(request))
  answerPages(made)
  const menu = (): void => showMenu(made.commands(), made.words(), hasDevTools)
  menu()
  made.onCommands(menu)
  main.open(made.firstUrl(place.value.appliance))
  powerMonitor.on('resume', () => made.woke())
  powerMonitor.on('unlock-screen', () => made.woke())
  app.on('activate', () => {
    if (main.window() === undefined) main.open(made.firstUrl(place.value.appliance))
  })
  if (early.link !== undefined) made.openLink(early.link)
  made.openFiles(early.files)
}

// before anything else: a second start hands its words over and ends
if (!app.requestSingleInstanceLock()) app.quit()
else {
  app.enableSandbox()
  app.setAppUserModelId('io.gatehouse.desktop')
  if (app.isPackaged) app.setAsDefaultProtocolClient('gatehouse')
  protocol.registerSchemesAsPrivileged([
    {
      scheme: SCHEME,
      privileges: { standard: true, secure: true, supportFetchAPI: true, stream: true, codeCache: true },
    },
  ])
  app.on('open-url', (event, url) => {
    event.preventDefault()
    openLink(url)
  })
  app.on('open-file', (event, path) => {
    event.preventDefault()
    openFiles([path])
  })
  app.on('second-instance', (_event, argv) => {
    const link = linkIn(argv)
    if (link !== undefined) openLink(link)
    else openFiles(filesIn(argv))
  })
  app.on('web-contents-created', (_event, contents) => fenceContents(contents, () => desktop))
  app.on('select-client-certificate', (event, _contents, _url, _list, answer) => {
    event.preventDefault()
    answer()
  })
  app.on('login', event => event.preventDefault())
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin') app.quit()
  })
  let isStopped = false
  app.on('before-quit', event => {
    if (desktop === undefined || isStopped) return
    event.preventDefault()
    isStopped = true
    void desktop.stop().finally(() => app.quit())
  })
  early.link = linkIn(process.argv)
  early.files.push(...filesIn(process.argv))
  void app.whenReady().then(start)
}
