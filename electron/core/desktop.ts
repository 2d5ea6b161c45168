import { join } from 'node:path'
import { openAppliance, openHome } from './answers.ts'
import { createBrowserSignIn } from './browser-sign-in.ts'
import { createAppliances } from './appliances.ts'
import { PreferencesSchema, type Envelope } from './bridge.ts'
import { createClipboard } from './clipboard.ts'
import { commandsOf, type Command } from './commands.ts'
import { openConnections } from './connections.ts'
import { readDeepLink } from './deep-links.ts'
import { startDiscovery } from './discovery.ts'
import { answerMessage } from './ipc.ts'
import { openKept } from './kept.ts'
import { createLooks } from './looks.ts'
import { createNotices } from './notices.ts'
import { outsideUrl } from './outside.ts'
import { applianceUrl, homeUrl, openPages, placeOf } from './pages.ts'
import type { Parts, Surroundings } from './parts.ts'
import { createReleases } from './releases.ts'
import { createSessions } from './sessions.ts'
import { openShownWords } from './shown-words.ts'
import { openUploads } from './uploads.ts'
import { createWatch } from './watch.ts'
import { filled, type Words } from './words.ts'

/** The desktop program without a window. */
export interface Desktop {
  /** Answers a request of a page. */
  respond(request: Request): Promise<Response>
  /** Answers a message of a page. */
  message(channel: string, ask: unknown, sender: string): Promise<Envelope>
  /** What the window shows first. */
  firstUrl(last: string | null): string
  /** Opens a `gatehouse://` link: it leads somewhere, and does nothing. */
  openLink(link: string): void
  /** Takes files that were dropped on the program's symbol, for the appliance that is shown; its page says where to. */
  openFiles(paths: readonly string[]): void
  /** Opens a link of a page in the system's browser, where that is allowed. @returns whether it was */
  openOutside(link: string): boolean
  /** The words of now around the menu's commands. */
  words(): Words
  /** The menu of now. */
  commands(): readonly Command[]
  /** Calls back when the menu is another. */
  onCommands(listener: () => void): void
  /** The computer slept, or came into another network. */
  woke(): void
  stop(): Promise<void>
}

/** Composes the parts, by hand and in order. */
async function compose(around: Surroundings): Promise<Parts> {
  const { folder, clock, log, system } = around
  const at = (name: string): string => join(folder, name)
  const preferences = await openKept(at('preferences.json'), PreferencesSchema, {
    notices: { held: true, deadline: true, backup: true, sync: true },
    stay_signed_in: true,
  })
  const words = await openShownWords(at('words.json'))
  const connections = await openConnections(at('connections.json'), clock)
  const appliances = createAppliances(connections, system)
  const sessions = createSessions(around.secrets, log, preferences.value.stay_signed_in)
  const uploads = await openUploads({ path: at('uploads.json'), clock, sessions, appliances })
  const notices = createNotices({
    notify: around.notify,
    clock,
    preferences: () => preferences.value,
    words: words.now,
    open: (id, hash) => {
      around.window.focus()
      if (connections.find(id) !== undefined) openAppliance(parts, id, hash)
    },
  })
  const parts: Parts = {
    ...{ around, preferences, words, connections, appliances, sessions, uploads },
    looks: createLooks(system),
    discovery: startDiscovery({
      clock,
      log,
      ...(around.addresses === undefined ? {} : { addresses: around.addresses }),
    }),
    watch: createWatch({ connections, appliances, sessions, notices, clock }),
    releases: createReleases({
      appliances,
      key: around.releaseKey,
      version: around.version,
      platform: around.platform,
      folder: around.downloads,
    }),
    copy: createClipboard(around.shell, clock),
    browserSignIn: createBrowserSignIn({ shell: around.shell, clock, focus: () => around.window.focus() }),
  }
  return parts
}

/** What the page, the tray and the queue hear of what moves. */
function connect({ around, appliances, uploads, discovery, words }: Parts): void {
  const { window, tray } = around
  const shownPlace = (): ReturnType<typeof placeOf> => placeOf(window.shown())
  function showTray(): void {
    const views = appliances.views()
    const now = words.now()
    tray.show({
      waiting: views.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0),
      lines: views.map(({ name, state, waiting }) =>
        [`${name}: ${now[state]}`, ...(waiting === null ? [] : [filled(now.to_review, waiting)])].join(', '),
      ),
      words: now,
    })
  }
  words.onTold(showTray)
  appliances.onMoved(() => {
    window.send('connections.moved', appliances.views())
    showTray()
    uploads.pump()
  })
  appliances.onChanged(id => {
    const place = shownPlace()
    if (place?.at === 'appliance' && place.id === id) window.load(homeUrl(`#/changed?id=${id}`))
  })
  discovery.onMoved(() => {
    if (shownPlace()?.at === 'home') window.send('discovery.moved', discovery.list())
  })
  uploads.onMoved(id => {
    const place = shownPlace()
    if (place?.at === 'appliance' && place.id === id) window.send('uploads.moved', uploads.view(id))
  })
}

export async function createDesktop(around: Surroundings): Promise<Desktop> {
  const parts = await compose(around)
  const { connections, appliances, uploads, watch } = parts
  const pages = await openPages(around.pages, appliances)
  connect(parts)
  watch.follow()
  uploads.pump()

  return {
    respond: request => pages.respond(request),
    message: (channel, ask, sender) => answerMessage(parts, channel, ask, sender),
    firstUrl: last => {
      const entry = last === null ? undefined : connections.find(last)
      return entry === undefined ? homeUrl() : applianceUrl(entry.id, entry.place)
    },
    openLink: link => {
      const to = readDeepLink(link, connections.list())
      around.window.focus()
      if (to.kind === 'refused') {
        around.log.line('warn', `a link was not opened: ${to.why}`)
        if (around.notify.isSupported)
          around.notify.show({ title: parts.words.now().not_opened, body: to.why, opened: () => around.window.focus() })
      } else if (to.kind === 'place' && appliances.view(to.id).state === 'changed')
        openHome(parts, `#/changed?id=${to.id}`)
      else around.window.load(to.url)
    },
    openFiles: paths => {
      const place = placeOf(around.window.shown())
      around.window.focus()
      if (place?.at !== 'appliance' || paths.length === 0) return
      const files = paths.map(path => ({ path, format: '', form: { distribution: '', component: '' } }))
      void uploads
        .add(place.id, files)
        .then(() => openAppliance(parts, place.id, '#/upload'))
        .catch((error: unknown) => around.log.line('warn', `files were not taken: ${(error as Error).message}`))
    },
    openOutside: link => {
      const url = outsideUrl(link, connections.list())
      if (url === undefined) return false
      void around.shell
        .openExternal(url)
        .catch((error: unknown) => around.log.line('warn', `no browser: ${String(error)}`))
      return true
    },
    words: parts.words.now,
    commands: () => commandsOf(parts),
    onCommands: listener => {
      parts.words.onTold(listener)
      let before = ''
      appliances.onMoved(() => {
        const now = connections
          .list()
          .map(({ id, name }) => `${id} ${name}`)
          .join()
        if (now !== before) listener()
        before = now
      })
    },
    woke: () => {
      watch.wake()
      parts.discovery.again()
    },
    stop: async () => {
      watch.stop()
      parts.discovery.stop()
      parts.browserSignIn.end()
      await uploads.stop()
      appliances.close()
    },
  }
}
