import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'

/** The memory that replicas share: counters of limits, and what one tells the others. */
export interface Shared {
  readonly backend: 'redis' | 'memory'
  /** Undefined in memory, and while Redis does not answer: callers then go on alone. */
  client(): Redis | undefined
  /** Tells the other replicas; lost when Redis does not answer, so nothing may rest on it alone. */
  tell(topic: string, message: unknown): void
  /** What other replicas told; never what this one did. */
  hear(topic: string, listener: (message: unknown) => void): void
  /** Why it does not answer, for the health report; undefined when all is well. */
  trouble(): string | undefined
  close(): Promise<void>
}

export const ALONE: Shared = {
  backend: 'memory',
  client: () => undefined,
  tell: () => undefined,
  hear: () => undefined,
  trouble: () => undefined,
  close: () => Promise.resolve(),
}

const PREFIX = 'gatehouse:'
const COMMAND_MS = 500
const LONGEST_PAUSE_MS = 5_000

interface Told {
  readonly from: unknown
  readonly message: unknown
}

/** @returns undefined for what no replica of ours would say */
function readTold(text: string): Told | undefined {
  try {
    const told = JSON.parse(text) as unknown
    return typeof told === 'object' && told !== null && 'from' in told
      ? { from: told.from, message: 'message' in told ? told.message : undefined }
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Connects in the background and for ever again. Nothing waits for it: a command that is not answered in half a second
 * fails.
 * @param onTrouble told once when it goes away and once when it is back. The URL may carry a password and is never
 *   shown
 */
export function createShared({
  url,
  onTrouble,
}: {
  readonly url: string
  readonly onTrouble: (trouble: string | undefined) => void
}): Shared {
  const self = randomUUID()
  const options = {
    lazyConnect: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    connectTimeout: 2_000,
    retryStrategy: (times: number) => Math.min(LONGEST_PAUSE_MS, 100 * 2 ** Math.min(times, 6)),
  }
  const commands = new Redis(url, options)
  // a connection that listens can do nothing else
  const ears = new Redis(url, { ...options, enableOfflineQueue: true, autoResubscribe: true })
  const listeners = new Map<string, ((message: unknown) => void)[]>()
  let trouble: string | undefined = 'Redis has not answered yet'

  function note(now: string | undefined): void {
    if ((now === undefined) === (trouble === undefined)) return
    trouble = now
    onTrouble(now)
  }
  commands.on('ready', () => note(undefined))
  commands.on('error', (error: NodeJS.ErrnoException) => note(`Redis does not answer: ${error.code ?? error.name}`))
  commands.on('close', () => note('Redis does not answer: the connection was closed'))
  ears.on('error', () => undefined) // the other connection tells it
  // whoever else writes to these channels must not end this process
  ears.on('message', (channel: string, text: string) => {
    const told = readTold(text)
    if (told === undefined || told.from === self) return
    for (const listener of listeners.get(channel) ?? []) {
      try {
        listener(told.message)
      } catch {
        // told in a form that this listener does not know
      }
    }
  })

  return {
    backend: 'redis',
    client: () => (commands.status === 'ready' ? commands : undefined),
    tell: (topic, message) => {
      if (commands.status === 'ready')
        commands.publish(`${PREFIX}${topic}`, JSON.stringify({ from: self, message })).catch(() => undefined) // told by `error`
    },
    hear: (topic, listener) => {
      const channel = `${PREFIX}${topic}`
      const known = listeners.get(channel)
      listeners.set(channel, [...(known ?? []), listener])
      if (known === undefined) ears.subscribe(channel).catch(() => undefined) // tried again with each connection
    },
    trouble: () => trouble,
    close: async () => {
      commands.removeAllListeners()
      for (const connection of [commands, ears]) {
        connection.on('error', () => undefined)
        connection.disconnect()
      }
      return Promise.resolve()
    },
  }
}
