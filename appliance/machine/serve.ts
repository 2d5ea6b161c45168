import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createServer, type Server, type Socket } from 'node:net'
import { VERBS, type Verb } from '../../server/machine/protocol.ts'
import { Refused, type Ports } from './ports.ts'
import type { DOING, Say } from './verbs/table.ts'

/** A certificate and its key, each of 64 KB, written as JSON. */
const MOST_BYTES = 512 * 1024
const MOST_CONNECTIONS = 32
const ASK_MS = 10_000
const TURN_MS = 10_000

FormatRegistry.Set('date-time', text => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)))

export interface Served {
  readonly ports: Ports
  readonly doing: typeof DOING
  readonly reading: readonly Verb[]
  /** How long a change waits for the one before it. */
  readonly turnMs?: number
}
interface Asked {
  readonly verb: Verb
  readonly asked: never
}

const isVerb = (name: unknown): name is Verb => typeof name === 'string' && Object.hasOwn(VERBS, name)

/** @throws Refused */
export function parseAsk(line: string): Asked {
  let said: unknown
  try {
    said = JSON.parse(line)
  } catch {
    throw new Refused('bad_request', 'That is no line of JSON. Send {"ask": "machine.read", "with": {}}.')
  }
  const { ask, with: asked = {}, ...more } = (said ?? {}) as Record<string, unknown>
  if (!isVerb(ask))
    throw new Refused(
      'unknown_verb',
      `This machine does not do ${JSON.stringify(ask ?? null)}. It does ${Object.keys(VERBS).join(', ')}.`,
    )
  const [wrong] = Value.Errors(VERBS[ask].with, asked)
  if (wrong !== undefined || Object.keys(more).length > 0)
    throw new Refused(
      'bad_request',
      `${ask} was asked with what it does not take${wrong === undefined ? `: ${Object.keys(more).join(', ')}` : `: ${wrong.path || 'with'}: ${wrong.message}`}. server/machine/protocol.ts says what it takes.`,
    )
  return { verb: ask, asked: asked as never }
}

/** The first line of a connection. @throws Refused when it is too long or too late */
function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let bytes = 0
    const late = setTimeout(
      () => fail('too_late', `No whole line came within ${ASK_MS / 1000} seconds. Ask again.`),
      ASK_MS,
    )
    function end(): void {
      clearTimeout(late)
      socket.off('data', take)
      socket.off('end', cut)
      socket.off('close', cut)
    }
    function fail(code: string, message: string): void {
      end()
      reject(new Refused(code, message))
    }
    function take(chunk: Buffer): void {
      bytes += chunk.length
      const at = chunk.indexOf(10)
      parts.push(at === -1 ? chunk : chunk.subarray(0, at))
      if (bytes > MOST_BYTES)
        fail('too_large', `More than ${MOST_BYTES / 1024} KB were sent. Send less, or put files onto a stick.`)
      else if (at !== -1) {
        end()
        resolve(Buffer.concat(parts).toString())
      }
    }
    const cut = (): void => fail('bad_request', 'The connection ended before a whole line came. End the line.')
    socket.on('data', take)
    socket.once('end', cut)
    socket.once('close', cut)
  })
}

/** Lets one change happen at a time. */
function createTurns(turnMs: number): <T>(verb: Verb, work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let busy: Verb | undefined
  return async (verb, work) => {
    const before = last
    let leave = (): void => undefined
    last = new Promise<void>(resolve => (leave = resolve))
    try {
      const late = Symbol('late')
      let timer: NodeJS.Timeout | undefined
      const waited = new Promise<typeof late>(resolve => (timer = setTimeout(() => resolve(late), turnMs)))
      const first = await Promise.race([before, waited])
      clearTimeout(timer)
      if (first === late) {
        const rest = before
        const release = leave
        leave = () => void rest.then(release)
        throw new Refused(
          'busy',
          `${busy ?? 'Another change'} is at work on this machine. Wait until it is done, then ask again.`,
        )
      }
      busy = verb
      return await work()
    } finally {
      leave()
    }
  }
}

function errorOf(error: unknown, verb: string): { code: string; message: string } {
  if (error instanceof Refused) return { code: error.code, message: error.message }
  const said = error instanceof Error ? error.message : String(error)
  return { code: 'failed', message: `${verb} failed: ${said}. journalctl -u gatehouse-machine says more.` }
}

/** Answers who opens the socket: one call a connection, as `server/machine/protocol.ts` says. */
export function createMachineServer({ ports, doing, reading, turnMs = TURN_MS }: Served): Server {
  const inTurn = createTurns(turnMs)
  async function answer(socket: Socket): Promise<void> {
    const write = (line: object): void => {
      // whoever asked may be gone; the work goes on
      if (socket.writable) socket.write(`${JSON.stringify(line)}\n`)
    }
    const say: Say = step => write({ step })
    let verb: Verb | 'A call' = 'A call'
    try {
      const { asked, ...named } = parseAsk(await readLine(socket))
      verb = named.verb
      const work = (): Promise<unknown> => doing[named.verb](ports, asked, say)
      if (reading.includes(verb)) write({ answer: await work() })
      else {
        ports.log(`${verb}: begins`)
        write({ answer: await inTurn(named.verb, work) })
        ports.log(`${verb}: done`)
      }
    } catch (error) {
      const said = errorOf(error, verb)
      ports.log(`${verb}: ${said.code}: ${said.message}`)
      write({ error: said })
    }
    socket.end()
  }
  const server = createServer({ allowHalfOpen: true }, socket => {
    // a caller that goes away is no fault of ours
    socket.on('error', () => undefined)
    answer(socket).catch((error: unknown) => {
      ports.log(`a connection failed: ${String(error)}`)
      socket.destroy()
    })
  })
  server.maxConnections = MOST_CONNECTIONS
  return server
}
