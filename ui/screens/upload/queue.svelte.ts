import { call, sentence } from '../../api.ts'
import { endingsInWords, readFormats } from '../../formats.ts'
import { createSender, type Parcel } from '../../sender.svelte.ts'
import { currentSession } from '../../session.svelte.ts'
import { toast } from '../../toasts.svelte.ts'
import { gateMarks, NO_MARKS, type Mark, type StepMark } from '../../words.ts'
import type { UploadResult } from '../../wire.ts'

interface Package {
  readonly format: string
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
    item.steps = NO_MARKS
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

/** Puts files in the queue. Files without a package's name are never sent. */
export async function addFiles(files: readonly File[]): Promise<void> {
  try {
    const formats = await readFormats()
    for (const file of files) {
      const name = file.name.toLowerCase()
      const format = formats.find(({ endings }) => endings.some(ending => name.endsWith(ending)))?.id
      if (format === undefined)
        toast('bad', `${file.name} is no package`, `The console sends ${endingsInWords(formats, 'and')} files.`)
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
    if (item.format === format && item.phase === 'waiting') Object.assign(item, placeOf(target))
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

function mark(item: Item, { step, outcome, message }: Readonly<Record<string, unknown>>): void {
  item.phase = 'at_server'
  item.steps = item.steps.map(known =>
    known.id === step
      ? { ...known, mark: MARKS[String(outcome)] ?? 'waiting', said: typeof message === 'string' ? message : '' }
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
  else if (result !== undefined && result.status !== 'already_imported') {
    // whether the index names it already is what the server said of that step
    const published = result.state === 'published' ? item.steps.find(({ id }) => id === 'publish') : undefined
    item.steps = gateMarks(result.validation, result.state).map(step => (step.id === published?.id ? published : step))
  }
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
    if (target !== '') Object.assign(item, placeOf(target))
  }
  uploads.retry(items)
}

/** True when the file did not reach the gate. */
export function isUntouched(item: Item): boolean {
  return item.steps.every(step => step.mark === 'waiting')
}
