import type { ThreadBody } from './workers.ts'

/** A new file. It is not durable yet. */
export interface Write {
  readonly kind: 'write'
  readonly to: string
  readonly bytes: string | Uint8Array
  readonly mode: number
}
/** A whole file in place of another one. */
export interface Replace {
  readonly kind: 'replace'
  readonly to: string
  /** The name until it is complete. */
  readonly part: string
  readonly bytes: string | Uint8Array
  readonly mode: number
}

/** A file that moves to its place on the same file system. */
export interface Move {
  readonly from: string
  readonly to: string
  /** A file of this size in the place is the same one: it counts as new at `now`, and `from` goes. */
  readonly sizeBytes: number
  readonly now: Date
}
/** What is made durable together, in the thread's next group. */
export type Lasting = Replace | (Move & { readonly kind: 'move' })
export type Order = Write | Lasting
/** Orders of one moment: new files, or what is to last. */
export type Orders = { readonly write: readonly Write[] } | { readonly last: readonly Lasting[] }
/** Undefined: done. */
export type Fault = { readonly message: string; readonly code?: string } | undefined

/**
 * Runs in the thread as source text: it may use nothing but its parameters and globals. What arrives while a group is
 * made durable is the next one: its files are written, all synced at the same time, then renamed, then each folder
 * synced once.
 */
export const workOnDisk: ThreadBody<Orders, readonly Fault[]> = require => {
  const fs = require('node:fs') as typeof import('node:fs')
  const path = require('node:path') as typeof import('node:path')
  interface Task {
    readonly order: Order
    readonly answer: (fault: Fault) => void
    readonly folders: Set<string>
    fd?: number
    isDone?: boolean
  }
  /** Files of one group, all open at once. */
  const most = 64
  let waiting: Task[] = []
  let isWorking = false

  const sync = (fd: number): Promise<unknown> =>
    new Promise(resolve => {
      fs.fsync(fd, error => resolve(error ?? undefined))
    })

  function finish(task: Task, error?: unknown): void {
    if (task.isDone === true) return
    task.isDone = true
    const { order, fd } = task
    if (fd !== undefined) fs.closeSync(fd)
    if (error === undefined || error === null) return task.answer(undefined)
    if (order.kind !== 'move' && fd !== undefined)
      fs.rmSync(order.kind === 'write' ? order.to : order.part, { force: true })
    const { message, code } = error as { readonly message: string; readonly code?: string }
    task.answer({ message, ...(code === undefined ? {} : { code }) })
  }

  /** Makes the folder; a new one is itself an entry of the one above. */
  function makeFolder({ order, folders }: Task): void {
    const folder = path.dirname(order.to)
    folders.add(folder)
    if (fs.existsSync(folder)) return
    const made = fs.mkdirSync(folder, { recursive: true, mode: 0o755 })
    if (made === undefined) return
    for (let above = path.dirname(folder); above.length >= path.dirname(made).length; above = path.dirname(above))
      folders.add(above)
  }

  /** Everything before the first fsync. */
  function begin(task: Task): void {
    const { order } = task
    if (order.kind === 'move') {
      if (fs.statSync(order.to, { throwIfNoEntry: false })?.size === order.sizeBytes) {
        fs.utimesSync(order.to, order.now, order.now)
        // what is in its place already is moved onto itself
        if (order.from !== order.to) fs.rmSync(order.from, { force: true })
        return finish(task)
      }
      task.fd = fs.openSync(order.from, 'r')
      return
    }
    if (order.kind === 'replace') makeFolder(task)
    const fd = fs.openSync(order.kind === 'write' ? order.to : order.part, 'wx', order.mode)
    task.fd = fd
    fs.writeFileSync(fd, order.bytes)
    if (order.kind === 'write') finish(task)
  }

  /** Between the fsync of the file and that of its folders. */
  function rename(task: Task): void {
    const { order } = task
    if (order.kind === 'move') makeFolder(task)
    if (order.kind !== 'write') fs.renameSync(order.kind === 'move' ? order.from : order.part, order.to)
  }

  function each(tasks: readonly Task[], work: (task: Task) => void): Task[] {
    for (const task of tasks)
      try {
        work(task)
      } catch (error) {
        finish(task, error)
      }
    return tasks.filter(({ isDone }) => isDone !== true)
  }

  async function syncFolder(folder: string): Promise<unknown> {
    let fd: number | undefined
    try {
      fd = fs.openSync(folder, 'r')
      return await sync(fd)
    } catch (error) {
      return error
    } finally {
      if (fd !== undefined) fs.closeSync(fd)
    }
  }

  async function run(group: readonly Task[]): Promise<void> {
    let left = each(group, begin)
    await Promise.all(
      left.map(async task => {
        const error = await sync(task.fd ?? -1)
        if (error !== undefined) finish(task, error)
      }),
    )
    left = each(
      left.filter(({ isDone }) => isDone !== true),
      rename,
    )
    const folders = [...new Set(left.flatMap(task => [...task.folders]))]
    const faults = new Map<string, unknown>()
    await Promise.all(
      folders.map(async folder => {
        const error = await syncFolder(folder)
        if (error !== undefined) faults.set(folder, error)
      }),
    )
    for (const task of left)
      finish(
        task,
        [...task.folders].map(folder => faults.get(folder)).find(fault => fault !== undefined),
      )
  }

  /** One group after the other: a folder that one makes is durable before the next one relies on it. */
  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, most)
      waiting = waiting.slice(most)
      await run(group)
    }
    isWorking = false
  }

  /** Answers for all of them when the last is done. */
  function tasksOf(orders: readonly Order[], answer: (faults: readonly Fault[]) => void): Task[] {
    const faults: Fault[] = []
    let left = orders.length
    return orders.map((order, n) => ({
      order,
      folders: new Set<string>(),
      answer: fault => {
        faults[n] = fault
        if (--left === 0) answer(faults)
      },
    }))
  }

  return (_, orders, answer) => {
    if ('write' in orders) return void each(tasksOf(orders.write, answer), begin)
    waiting.push(...tasksOf(orders.last, answer))
    if (isWorking) return
    isWorking = true
    // after the messages that are here already: what arrived together is one group
    setImmediate(() => void work())
  }
}
