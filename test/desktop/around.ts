import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDesktop, type Desktop } from '../../electron/core/desktop.ts'
import type { Surroundings } from '../../electron/core/parts.ts'
import type { Clock, Message } from '../../electron/core/ports.ts'
import { memorySecrets } from '../../electron/core/secrets.ts'
import { homeUrl } from '../../electron/core/pages.ts'
import type { Channel } from '../../electron/core/channels.ts'
import type { Ask, Reply } from '../../electron/core/bridge.ts'
import { WORDS, type Words } from '../../electron/core/words.ts'

const UI = join(import.meta.dirname, '..', '..', 'ui', 'dist')

export const realClock: Clock = {
  now: () => new Date(),
  every: (ms, run) => {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** The program with a window that only remembers, and everything else real. */
export interface Program {
  readonly desktop: Desktop
  readonly folder: string
  /** What the window was told to load, newest last. */
  readonly loaded: string[]
  readonly sent: { readonly event: string; readonly value: unknown }[]
  readonly messages: Message[]
  readonly log: string[]
  readonly opened: string[]
  readonly copied: { text: string }
  readonly tray: { waiting: number; lines: readonly string[]; words: Words }
  /** Answers of the save dialog. */
  save: string | undefined
  /** Asks as the page with all appliances. @throws Error with the refusal */
  home<C extends Channel>(channel: C, ask: Ask<C>): Promise<Reply<C>>
  /** Asks as an appliance's page. */
  page<C extends Channel>(id: string, channel: C, ask: Ask<C>): Promise<Reply<C>>
  /** Ends it and starts it again on the same folder and secrets. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface ProgramOptions {
  readonly system?: () => string[]
  readonly around?: Partial<Surroundings>
}

export async function startProgram({ system = () => [], around = {} }: ProgramOptions = {}): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-desktop-'))
  const secrets = { ...memorySecrets(), said: undefined }
  const state = {
    loaded: [homeUrl()],
    sent: [] as { event: string; value: unknown }[],
    messages: [] as Message[],
    log: [] as string[],
    opened: [] as string[],
    copied: { text: '' },
    tray: { waiting: 0, lines: [] as readonly string[], words: WORDS as Words },
    save: undefined as string | undefined,
  }
  const surroundings = (): Surroundings => ({
    folder,
    pages: UI,
    version: '0.2.0',
    platform: 'linux-x64',
    clock: realClock,
    log: { line: (level, text) => state.log.push(`${level} ${text}`) },
    shell: {
      openExternal: url => {
        state.opened.push(url)
        return Promise.resolve()
      },
      showInFolder: path => state.opened.push(path),
      copy: text => {
        state.copied.text = text
      },
      copied: () => Promise.resolve(state.copied.text),
    },
    notify: { isSupported: true, show: message => state.messages.push(message) },
    tray: {
      show: next => {
        Object.assign(state.tray, next)
      },
    },
    dialog: { save: () => Promise.resolve(state.save) },
    window: {
      load: url => state.loaded.push(url),
      send: (event, value) => state.sent.push({ event, value }),
      focus: () => undefined,
      shown: () => state.loaded.at(-1) ?? '',
    },
    secrets,
    system,
    downloads: join(folder, 'downloads'),
    releaseKey: undefined,
    addresses: () => [],
    ...around,
  })
  let desktop = await createDesktop(surroundings())
  async function ask<C extends Channel>(channel: C, value: Ask<C>, sender: string): Promise<Reply<C>> {
    const answer = await desktop.message(channel, value, sender)
    if (!answer.ok) throw Object.assign(new Error(answer.message), { code: answer.code })
    return answer.value as Reply<C>
  }
  return Object.assign(state, {
    get desktop() {
      return desktop
    },
    folder,
    home: <C extends Channel>(channel: C, value: Ask<C>) => ask(channel, value, homeUrl()),
    page: <C extends Channel>(id: string, channel: C, value: Ask<C>) => ask(channel, value, `app://${id}/`),
    restart: async () => {
      await desktop.stop()
      desktop = await createDesktop(surroundings())
    },
    close: async () => {
      await desktop.stop()
      // what was on its way to the disk may still come
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  })
}
