import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { Shared } from './replica-memory.ts'
import { systemErrorInWords } from './system-errors.ts'

const PREFIX = 'gatehouse:'
const COMMAND_MS = 500
const LONGEST_PAUSE_MS = 5_000

interface Envelope {
  readonly from: unknown
  readonly message: unknown
}

/** @returns undefined for a message that none of our replicas sends */
function readEnvelope(text: string): Envelope | undefined {
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
 * Connects in the background and reconnects for ever. Nothing waits for it: a command without an answer fails after
 * half a second.
 * @param onTrouble  called once when Redis goes away and once when it is back. The URL may carry a password and is
 * never shown
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
  // a connection that subscribes can do nothing else
  const ears = new Redis(url, { ...options, enableOfflineQueue: true, autoResubscribe: true })
  const listeners = new Map<string, ((message: unknown) => void)[]>()
  const watchers = [onTrouble]
  let trouble: string | undefined = 'Redis has not answered yet'

  function note(now: string | undefined): void {
    if ((now === undefined) === (trouble === undefined)) return
    trouble = now
    for (const tell of watchers) tell(now)
  }
  commands.on('ready', () => note(undefined))
  commands.on('error', (error: NodeJS.ErrnoException) =>
    note(`Redis does not answer: ${systemErrorInWords(error) ?? error.name}`),
  )
  commands.on('close', () => note('Redis does not answer: the connection was closed'))
  ears.on('error', () => undefined) // the other connection reports it
  // foreign messages on these channels must not end this process
  ears.on('message', (channel: string, text: string) => {
    const told = readEnvelope(text)
    if (told === undefined || told.from === self) return
    for (const listener of listeners.get(channel) ?? []) {
      try {
        listener(told.message)
      } catch {
        // not a form this listener knows
      }
    }
  })

  return {
    backend: 'redis',
    client: () => (commands.status === 'ready' ? commands : undefined),
    tell: (topic, message) => {
      if (commands.status === 'ready')
        commands.publish(`${PREFIX}${topic}`, JSON.stringify({ from: self, message })).catch(() => undefined)
    },
    hear: (topic, listener) => {
      const channel = `${PREFIX}${topic}`
      const known = listeners.get(channel)
      listeners.set(channel, [...(known ?? []), listener])
      if (known === undefined) ears.subscribe(channel).catch(() => undefined) // tried again at each connection
    },
    onTrouble: listener => void watchers.push(listener),
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
