import { ApiProblem, call, sentence } from '../../api.ts'
import { liveState } from '../../live.svelte.ts'
import { currentSession } from '../../session.svelte.ts'
import { bytes } from '../../show.ts'
import { toast } from '../../toasts.svelte.ts'
import { gateMarks, STEPS, type Mark, type StepMark } from '../../words.ts'
import type { UploadResult } from '../../wire.ts'
import { sendFile, type StepEvent } from './send.ts'

/**
 * `waiting` its turn, `sending` bytes, at the `gate`, `done` with a result, `failed` with a problem, or `unsent`
 * because it cannot succeed.
 */
export type Phase = 'waiting' | 'sending' | 'gate' | 'done' | 'failed' | 'unsent'

export interface Item {
  readonly id: number
  readonly file: File
  readonly format: Format
  distribution: string
  phase: Phase
  sent: number
  steps: readonly StepMark[]
  result: UploadResult | undefined
  problem:
    | {
        readonly code: string
        readonly message: string
        readonly facts: Readonly<Record<string, unknown>>
        readonly requestId: string | undefined
      }
    | undefined
  finishedAt: Date | undefined
  abort: AbortController | undefined
}

export const FORMATS = ['deb', 'rpm', 'apk'] as const
export type Format = (typeof FORMATS)[number]

/** Two at a time: one is sent while the other is at the gate. */
const AT_ONCE = 2
const KEY = 'gatehouse.goes-to.'

interface Uploads {
  items: Item[]
  /** No file is sent before this moment: the limit of uploads a minute was met. */
  pausedUntil: Date | undefined
  limitPerMinute: number | undefined
  /** Known to admins from the settings, to others from the first 413. */
  limitMb: number | undefined
  /** Which row's steps are shown. */
  picked: number | undefined
}

/** The queue outlives the screen: files go on while someone looks elsewhere. */
export const uploads: Uploads = $state({
  items: [],
  pausedUntil: undefined,
  limitPerMinute: undefined,
  limitMb: undefined,
  picked: undefined,
})
let nextId = 1
/** Whose files these are: nobody else's name may stand beside them in the audit log. */
let owner: string | undefined

function formatOf(name: string): Format | undefined {
  return FORMATS.find(format => name.toLowerCase().endsWith(`.${format}`))
}

/** Where packages of a format went last time, in this browser. */
export function rememberedTarget(format: Format): string {
  try {
    return localStorage.getItem(KEY + format) ?? ''
  } catch {
    return ''
  }
}
export function rememberTarget(format: Format, codename: string): void {
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

function tooLarge(file: File): boolean {
  return uploads.limitMb !== undefined && file.size > uploads.limitMb * 1024 * 1024
}

function sizeProblem(file: File): NonNullable<Item['problem']> {
  return {
    code: 'upload_too_large',
    facts: { limit_mb: uploads.limitMb },
    requestId: undefined,
    message: `${file.name} is ${bytes(file.size)}. The limit is ${uploads.limitMb} MB. An admin can raise validation.max_upload_size_mb.`,
  }
}

/** Puts files in the queue. A name that is no package's, and a file that is too large, are never sent. */
export function addFiles(files: readonly File[]): void {
  for (const file of files) {
    const format = formatOf(file.name)
    if (format === undefined) {
      toast('bad', `${file.name} is no package`, 'The console sends .deb, .rpm and .apk files.')
      continue
    }
    const large = tooLarge(file)
    uploads.items.push({
      id: nextId++,
      file,
      format,
      distribution: rememberedTarget(format),
      phase: large ? 'unsent' : 'waiting',
      sent: 0,
      steps: gateMarks([], undefined),
      result: undefined,
      problem: large ? sizeProblem(file) : undefined,
      finishedAt: undefined,
      abort: undefined,
    })
  }
  pump()
}

/** Gives every waiting file of a format that has no target yet this one, and starts. */
export function chooseTarget(format: Format, codename: string): void {
  if (codename === '') return
  rememberTarget(format, codename)
  for (const item of uploads.items) if (item.format === format && item.phase === 'waiting') item.distribution = codename
  pump()
}

/** Goes on after somebody signed in; what another person left here is gone with that person. */
export function takeUpQueue(): void {
  const name = currentSession().me?.username
  if (owner !== undefined && owner !== name) {
    for (const item of uploads.items) item.abort?.abort()
    Object.assign(uploads, { items: [], picked: undefined })
  }
  owner = name
  pump()
}

/** Without a session, or without a connection, nothing is begun that would only fail. */
export function standsStill(): boolean {
  return currentSession().state !== 'in' || liveState().state === 'offline'
}

/** Starts what may start now. */
export function pump(): void {
  if (uploads.pausedUntil !== undefined || standsStill()) return
  let running = uploads.items.filter(item => item.phase === 'sending' || item.phase === 'gate').length
  for (const item of uploads.items) {
    if (running >= AT_ONCE) return
    if (item.phase !== 'waiting' || item.distribution === '') continue
    running++
    void run(item)
  }
}

const MARKS: Readonly<Record<string, Mark>> = {
  running: 'running',
  passed: 'passed',
  warning: 'warned',
  failed: 'failed',
  skipped: 'skipped',
  unavailable: 'unavailable',
}

function mark(item: Item, { step, status, message }: StepEvent): void {
  item.phase = 'gate'
  item.steps = item.steps.map(known =>
    known.id === step ? { ...known, mark: MARKS[status] ?? 'waiting', said: message } : known,
  )
}

/**
 * Shows what is at work, unless something that is at work is shown already. In a narrow window the steps would cover
 * the list.
 */
function follow(item: Item): void {
  const shown = uploads.items.find(one => one.id === uploads.picked)
  if (matchMedia('(min-width: 1101px)').matches && shown?.phase !== 'sending' && shown?.phase !== 'gate')
    uploads.picked = item.id
}

async function run(item: Item): Promise<void> {
  const abort = new AbortController()
  Object.assign(item, { phase: 'sending', sent: 0, problem: undefined, steps: gateMarks([], undefined), abort })
  follow(item)
  try {
    const result = await sendFile(item.file, item.distribution, {
      signal: abort.signal,
      progress: sent => {
        item.sent = sent
        if (sent >= item.file.size && item.phase === 'sending') item.phase = 'gate'
      },
      step: event => mark(item, event),
    })
    item.result = result
    item.phase = 'done'
    // the final answer knows why; a skipped publication of a held package is drawn as held
    item.steps = result.status === 'already_imported' ? item.steps : gateMarks(result.validation.steps, result.state)
  } catch (error) {
    settleProblem(item, error)
  }
  item.abort = undefined
  item.finishedAt = new Date()
  pump()
}

function settleProblem(item: Item, error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') {
    uploads.items = uploads.items.filter(one => one.id !== item.id)
    return
  }
  if (error instanceof ApiProblem && error.status === 401) {
    item.phase = 'waiting' // for who signs in again
    return
  }
  if (error instanceof ApiProblem && error.status === 429) {
    item.phase = 'waiting'
    pause(error.retryAfter ?? 60, Number(error.facts.limit) || undefined)
    return
  }
  item.phase = 'failed'
  item.steps = item.steps.map(step =>
    step.mark === 'running' ? { ...step, mark: 'failed', said: sentence(error) } : step,
  )
  const known = error instanceof ApiProblem ? error : undefined
  item.problem = {
    code: known?.code ?? 'console',
    message: sentence(error),
    facts: known?.facts ?? {},
    requestId: known?.requestId,
  }
  const limit = Number(known?.facts.limit_mb)
  if (known?.status === 413 && limit > 0) {
    uploads.limitMb = limit
    for (const one of uploads.items)
      if (one.phase === 'waiting' && tooLarge(one.file))
        Object.assign(one, { phase: 'unsent', problem: sizeProblem(one.file) })
  }
}

/** Waits out the limit and goes on by itself; what is at the gate continues. */
function pause(seconds: number, limit: number | undefined): void {
  if (uploads.pausedUntil !== undefined) return
  uploads.limitPerMinute = limit
  uploads.pausedUntil = new Date(Date.now() + seconds * 1000)
  setTimeout(() => {
    uploads.pausedUntil = undefined
    pump()
  }, seconds * 1000)
}

/** Takes a file out: one that is on its way is stopped first. */
export function remove(item: Item): void {
  if (item.abort !== undefined) item.abort.abort()
  else uploads.items = uploads.items.filter(one => one.id !== item.id)
}

/** Failures that the same file may survive: all but the ones where the server refused the file itself. */
export function canRetry(item: Item): boolean {
  return (
    item.phase === 'failed' &&
    ![
      'duplicate_conflict',
      'upload_too_large',
      'bad_package',
      'unknown_format',
      'wrong_arch',
      'digest_mismatch',
    ].includes(item.problem?.code ?? '')
  )
}

export function retry(items: readonly Item[]): void {
  for (const item of items) {
    if (!canRetry(item)) continue
    item.phase = 'waiting'
    item.problem = undefined
    if (item.distribution === '' || rememberedTarget(item.format) !== '')
      item.distribution = rememberedTarget(item.format)
  }
  pump()
}

export function clearFinished(): void {
  uploads.items = uploads.items.filter(
    item => !['done', 'unsent'].includes(item.phase) && !(item.phase === 'failed' && !canRetry(item)),
  )
}

/** How many files are on their way, or will be without anybody doing anything. */
export function atWork(): number {
  return uploads.items.filter(
    ({ phase, distribution }) =>
      phase === 'sending' || phase === 'gate' || (phase === 'waiting' && distribution !== ''),
  ).length
}

/** True when nothing of the gate was reached. */
export function isUntouched(item: Item): boolean {
  return item.steps.every(step => step.mark === 'waiting')
}

export const STEP_COUNT = STEPS.length
