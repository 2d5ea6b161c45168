import { call } from '../../api.ts'
import { createSender, type Parcel } from '../../sender.svelte.ts'
import { currentSession } from '../../session.svelte.ts'
import { toast } from '../../toasts.svelte.ts'
import { gateMarks, type Mark, type StepMark } from '../../words.ts'
import type { UploadResult } from '../../wire.ts'

export const FORMATS = ['deb', 'rpm', 'apk'] as const
export type Format = (typeof FORMATS)[number]

interface Package {
  readonly format: Format
  distribution: string
  /** Only where the distribution has several; empty means the one that the package names, else the first. */
  component: string
  steps: readonly StepMark[]
}
export type Item = Parcel<UploadResult> & Package

/** Which row's steps are shown. */
let pickedId = $state<number>()

/** Two at a time: one is sent while the other is at the gate. */
export const uploads = createSender<UploadResult, Package>({
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
    item.steps = gateMarks([], undefined)
    follow(item)
  },
  finished: drawEnd,
})

/** The file whose steps are shown. */
export function picked(): Item | undefined {
  return uploads.items.find(({ id }) => id === pickedId)
}
export function pick(item: Item | undefined): void {
  pickedId = item?.id
}

/** The component that packages of a format go to; empty is the one they name, or the first. */
export const components: Record<Format, string> = $state({ deb: '', rpm: '', apk: '' })

const KEY = 'gatehouse.goes-to.'

/** Where packages of a format went last time, in this browser. */
export function rememberedTarget(format: Format): string {
  try {
    return localStorage.getItem(KEY + format) ?? ''
  } catch {
    return ''
  }
}
function rememberTarget(format: Format, codename: string): void {
  try {
    localStorage.setItem(KEY + format, codename)
  } catch {
    /* then it is asked for next time */
  }
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

/** Puts files in the queue. Files without a package's name are never sent. */
export function addFiles(files: readonly File[]): void {
  for (const file of files) {
    const format = FORMATS.find(one => file.name.toLowerCase().endsWith(`.${one}`))
    if (format === undefined) toast('bad', `${file.name} is no package`, 'The console sends .deb, .rpm and .apk files.')
    else
      uploads.add(file, {
        format,
        distribution: rememberedTarget(format),
        component: components[format],
        steps: gateMarks([], undefined),
      })
  }
}

/** Gives every waiting file of a format this target, and starts. */
export function chooseTarget(format: Format, codename: string): void {
  if (codename === '') return
  rememberTarget(format, codename)
  components[format] = ''
  for (const item of uploads.items) {
    if (item.format === format && item.phase === 'waiting')
      Object.assign(item, { distribution: codename, component: '' })
  }
  uploads.pump()
}

const MARKS: Readonly<Record<string, Mark>> = {
  running: 'running',
  passed: 'passed',
  warning: 'warned',
  failed: 'failed',
  skipped: 'skipped',
  unavailable: 'unavailable',
}

function mark(item: Item, { step, status, message }: Readonly<Record<string, unknown>>): void {
  item.phase = 'at_server'
  item.steps = item.steps.map(known =>
    known.id === step
      ? { ...known, mark: MARKS[String(status)] ?? 'waiting', said: typeof message === 'string' ? message : '' }
      : known,
  )
}

/** Draws how it ended. The final answer knows more than the steps: publication of a held package is drawn as held. */
function drawEnd(item: Item): void {
  const { result, problem } = item
  if (problem !== undefined)
    item.steps = item.steps.map(step =>
      step.mark === 'running' ? { ...step, mark: 'failed', said: problem.message } : step,
    )
  else if (result !== undefined && result.status !== 'already_imported')
    item.steps = gateMarks(result.validation.steps, result.state)
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
    if (target !== '') item.distribution = target
  }
  uploads.retry(items)
}

/** True when the file did not reach the gate. */
export function isUntouched(item: Item): boolean {
  return item.steps.every(step => step.mark === 'waiting')
}
