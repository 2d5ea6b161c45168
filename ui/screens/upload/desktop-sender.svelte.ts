import { ApiProblem } from '../../api.ts'
import { desktopHost, type Desktop, type UploadsView, type UploadView } from '../../host.ts'
import { canRetry, isFinished, type Sender } from '../../sender.svelte.ts'
import { bytes } from '../../show.ts'
import { toast } from '../../toasts.svelte.ts'
import type { UploadResult } from '../../wire.ts'
import { NO_MARKS } from '../../words.ts'
import { marked, markedAtEnd, type Item, type Package } from './item.ts'

/** A file as the desktop program tells of it. */
function itemOf({ problem, form, told, ...view }: UploadView): Item {
  const item: Item = {
    id: view.id,
    file: { name: view.name, size: view.size },
    phase: view.phase,
    sent: view.sent,
    // our own server's shape
    result: (view.result ?? undefined) as UploadResult | undefined,
    problem:
      problem === null
        ? undefined
        : new ApiProblem({ ...problem, ...(problem.limit === null ? {} : { facts: { limit_mb: problem.limit } }) }),
    finishedAt: view.finished_at === null ? undefined : new Date(view.finished_at),
    abort: undefined,
    format: view.format,
    distribution: form.distribution,
    component: form.component,
    steps: told.reduce<Item['steps']>((steps, event) => marked(steps, event), NO_MARKS),
  }
  return { ...item, steps: markedAtEnd(item) }
}

interface Needs {
  /** Hears of files that begin to be sent. */
  readonly began: (item: Item) => void
  /** Decides about files that nobody said a distribution for, such as those dropped on the program's symbol. */
  readonly adopt: (items: readonly Item[]) => void
}

/**
 * The queue of the desktop program: it reads files from disk by their path, goes on while this page is loaded anew, and
 * is there again after the program ended. What this page shows is what the program tells.
 */
export function createDesktopSender({ began, adopt }: Needs): Sender<UploadResult, Package> & { follow(): void } {
  let items = $state.raw<Item[]>([])
  let pausedUntil = $state.raw<Date>()
  let limitPerMinute = $state<number>()
  let limitMb = $state<number>()
  let isPaused = $state(false)
  let isFollowed = false

  function take(view: UploadsView): void {
    const before = new Map(items.map(({ id, phase }) => [id, phase]))
    items = view.items.map(itemOf)
    pausedUntil = view.paused_until === null ? undefined : new Date(view.paused_until)
    limitPerMinute = view.limit_per_minute ?? undefined
    isPaused = view.is_paused
    for (const item of items) if (item.phase === 'sending' && before.get(item.id) !== 'sending') began(item)
    const lost = items.filter(({ distribution, phase }) => distribution === '' && phase === 'waiting')
    if (lost.length > 0) adopt(lost)
  }
  const desktop = (): Desktop => {
    const found = desktopHost()
    if (found === undefined) throw new Error('there is no desktop program around this page')
    return found
  }
  /** A refusal of the program is told where the person is. */
  const quietly = (work: Promise<unknown>): void =>
    void work.catch((error: unknown) => toast('bad', 'The files are not taken', (error as Error).message))
  const idsOf = (chosen: readonly Item[]): number[] => chosen.map(({ id }) => id)
  const aim = (item: Item, more: Partial<Package>): Promise<unknown> => {
    const { format, distribution, component } = { ...item, ...more }
    return desktop().ask('uploads.aim', { ids: [item.id], format, form: { distribution, component } })
  }

  async function send(file: File, { format, distribution, component }: Package): Promise<void> {
    if (limitMb !== undefined && file.size > limitMb * 1024 * 1024)
      return toast(
        'bad',
        `${file.name} is too large`,
        `It is ${bytes(file.size)}. The limit is ${limitMb} MB. An admin can raise validation.max_upload_size_mb.`,
      )
    const answer = await desktop().bridge.addFiles([{ file, format, form: { distribution, component } }])
    if (!answer.ok) throw new ApiProblem({ status: 0, code: answer.code, message: answer.message })
    if (answer.value.left.length > 0)
      toast('bad', `${file.name} is not on this computer's disk`, 'Save it somewhere first, then add it from there.')
  }

  return {
    get items() {
      return items
    },
    get pausedUntil() {
      return pausedUntil
    },
    get limitPerMinute() {
      return limitPerMinute
    },
    get limitMb() {
      return limitMb
    },
    set limitMb(value) {
      limitMb = value
    },
    get isPaused() {
      return isPaused
    },
    set isPaused(value) {
      quietly(desktop().ask('uploads.pause', { is_paused: value }))
    },
    follow: () => {
      if (isFollowed || desktopHost() === undefined) return
      isFollowed = true
      desktop().on('uploads.moved', take)
      quietly(desktop().ask('uploads.list', {}).then(take))
    },
    add: (file, more) => quietly(send(file, more)),
    change: (item, more) => quietly(aim(item, more)),
    // the program starts what may start by itself
    pump: () => {},
    remove: item => quietly(desktop().ask('uploads.remove', { ids: [item.id] })),
    retry: (chosen, change) =>
      quietly(
        Promise.all(change === undefined ? [] : chosen.map(item => aim(item, change))).then(() =>
          desktop().ask('uploads.retry', { ids: idsOf(chosen.filter(item => canRetry(item) || change !== undefined)) }),
        ),
      ),
    clearFinished: () => {
      quietly(desktop().ask('uploads.clear', { ids: idsOf(items.filter(isFinished)) }))
    },
    atWork: () =>
      items.filter(
        ({ phase, distribution }) =>
          phase === 'sending' || phase === 'at_server' || (phase === 'waiting' && distribution !== ''),
      ).length,
  }
}
