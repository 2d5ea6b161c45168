import { call, sentence } from '../../api.ts'
import { endingsInWords, readFormats } from '../../formats.ts'
import { isDesktop } from '../../host.ts'
import { createSender, type Sender } from '../../sender.svelte.ts'
import { currentSession } from '../../session.svelte.ts'
import { toast } from '../../toasts.svelte.ts'
import type { UploadResult } from '../../wire.ts'
import { NO_MARKS } from '../../words.ts'
import { createDesktopSender } from './desktop-sender.svelte.ts'
import { marked, markedAtEnd, type Item, type Package } from './item.ts'

/** Hears what the desktop program sends; nothing in a browser. */
let followQueue = (): void => {}
export const followUploads = (): void => followQueue()

/** Which row's steps are shown. */
let pickedId = $state<number>()

function inProgram(): Sender<UploadResult, Package> {
  const sender = createDesktopSender({ began: follow, adopt })
  followQueue = sender.follow
  return sender
}

/** Two at a time: one is sent while the other is at the gate. */
const inBrowser = (): Sender<UploadResult, Package> =>
  createSender<UploadResult, Package>({
    atOnce: 2,
    setting: 'validation.max_upload_size_mb',
    isReady: ({ distribution }) => distribution !== '',
    wayOf: item => ({
      key: 'POST /upload/stream',
      form: { distribution: item.distribution, ...(item.component === '' ? {} : { component: item.component }) },
      told: event => mark(item, event),
      cutOff: reached =>
        reached === 'sending'
          ? `The connection ended before ${item.file.name} was whole. Nothing was kept; try again.`
          : `The connection ended while ${item.file.name} was at the gate. The server may have finished alone: try again, the same bytes are never stored twice.`,
    }),
    began: item => {
      item.steps = NO_MARKS
      follow(item)
    },
    finished: item => {
      item.steps = markedAtEnd(item)
    },
  })

/** Packages on their way, of this page or of the desktop program. */
export const uploads: Sender<UploadResult, Package> = isDesktop() ? inProgram() : inBrowser()

/** The file whose steps are shown. */
export function picked(): Item | undefined {
  return uploads.items.find(({ id }) => id === pickedId)
}
export function pick(item: Item | undefined): void {
  pickedId = item?.id
}

const KEY = 'gatehouse.goes-to.'

/** Where packages of a format went last time, in this browser: `acme`, or `acme/tools` with the component. */
export function rememberedTarget(format: string): string {
  try {
    return localStorage.getItem(KEY + format) ?? ''
  } catch {
    return ''
  }
}
function rememberTarget(format: string, target: string): void {
  try {
    localStorage.setItem(KEY + format, target)
  } catch {
    /* then it is asked for next time */
  }
}

/** Splits a target at its first slash; no codename has one. */
function placeOf(target: string): Pick<Item, 'distribution' | 'component'> {
  const [distribution = '', ...component] = target.split('/')
  return { distribution, component: component.join('/') }
}

/** Learns the size limit where this person may read it. */
export async function learnLimit(): Promise<void> {
  if (currentSession().me?.role !== 'admin' || uploads.limitMb !== undefined) return
  try {
    uploads.limitMb = (await call('GET /settings/')).validation.max_upload_size_mb
  } catch {
    /* only a courtesy: the server checks in any case */
  }
}

type Formats = Awaited<ReturnType<typeof readFormats>>
const formatOf = (formats: Formats, name: string): string | undefined =>
  formats.find(({ endings }) => endings.some(ending => name.toLowerCase().endsWith(ending)))?.id
const tellNoPackage = (formats: Formats, name: string): void =>
  toast('bad', `${name} is no package`, `The console sends ${endingsInWords(formats, 'and')} files.`)

/** Puts files in the queue. Files without a package's name are never sent. */
export async function addFiles(files: readonly File[]): Promise<void> {
  try {
    const formats = await readFormats()
    for (const file of files) {
      const format = formatOf(formats, file.name)
      if (format === undefined) tellNoPackage(formats, file.name)
      else
        uploads.add(file, {
          format,
          ...placeOf(rememberedTarget(format)),
          steps: NO_MARKS,
        })
    }
  } catch (error) {
    toast('bad', 'The files are not taken', sentence(error))
  }
}

/** Gives every waiting file of a format this target, and starts. */
export function chooseTarget(format: string, target: string): void {
  if (target === '') return
  rememberTarget(format, target)
  for (const item of uploads.items)
    if (item.format === format && item.phase === 'waiting') uploads.change(item, placeOf(target))
  uploads.pump()
}

function mark(item: Item, event: Readonly<Record<string, unknown>>): void {
  item.phase = 'at_server'
  item.steps = marked(item.steps, event)
}

/**
 * Shows what is at work, unless something that is at work is shown already. In a narrow window the steps would cover
 * the list.
 */
function follow(item: Item): void {
  const phase = picked()?.phase
  if (matchMedia('(min-width: 1101px)').matches && phase !== 'sending' && phase !== 'at_server') pick(item)
}

/** Tries failed files again, where packages of their format go now. */
export function retry(items: readonly Item[]): void {
  for (const item of items) {
    const target = rememberedTarget(item.format)
    if (target !== '') uploads.change(item, placeOf(target))
  }
  uploads.retry(items)
}

/** Files without a distribution, such as those dropped on the program's symbol, go where such files went last. */
function adopt(items: readonly Item[]): void {
  void readFormats()
    .then(formats => {
      for (const item of items) {
        const format = formatOf(formats, item.file.name)
        const target = rememberedTarget(format ?? '')
        if (format !== undefined) {
          if (target !== '' || item.format === '') uploads.change(item, { format, ...placeOf(target) })
        } else {
          uploads.remove(item)
          tellNoPackage(formats, item.file.name)
        }
      }
    })
    .catch(() => {}) // without the list of formats they wait; the connection's return asks again
}
