import { connect, type Socket } from 'node:net'
import { EngineUnavailable } from './scanner.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'

/** Where clamd listens: `LocalSocket`, or `TCPSocket` with `TCPAddr`. */
export type ClamdAddress = { readonly socket: string } | { readonly host: string; readonly port: number }

/** How long clamd may send nothing, in milliseconds. */
export interface Deadlines {
  /** Until it accepts the connection. */
  readonly connectMs: number
  /** Without a byte in either direction. */
  readonly idleMs: number
}

/**
 * clamd sends nothing while it scans, and a scan takes as long as the machine is busy. After `idleMs` without a byte it
 * is therefore asked by PING on another connection, which it answers beside its scans: who answers is waited for.
 */
export interface ScanDeadlines extends Deadlines {
  /** Until it answers PING. */
  readonly pingMs: number
  /** Without a byte, however often it answers PING. Above the MaxScanTime that `docs/operations.md` asks for. */
  readonly mostMs: number
}

const ENGINE = 'clamav'
// an answer is one line; the name of a virus has a few dozen bytes at most
const ANSWER_BYTES = 4096
const KEEP_ALIVE_MS = 60_000
// clamd allocates the announced length, so a large block is cut
const BLOCK = 1 << 20

const unavailable = (why: string, cause?: unknown): EngineUnavailable => new EngineUnavailable(ENGINE, why, cause)

/** One connection, one command, one answer that ends with a NUL byte. */
class Line {
  readonly socket: Socket
  answer: string | undefined
  private failure: Error | undefined
  private text = ''
  private wake: (() => void) | undefined

  /** @param onSilence  why to give up after `idleMs` without a byte; undefined to wait for as long again */
  constructor(
    address: ClamdAddress,
    { connectMs, idleMs }: Deadlines,
    onSilence: (socket: Socket) => Promise<string | undefined>,
  ) {
    const where = 'socket' in address ? address.socket : `${address.host}:${address.port}`
    this.socket = 'socket' in address ? connect(address.socket) : connect(address.port, address.host)
    this.socket.setEncoding('latin1')
    this.socket.setNoDelay(true)
    // a machine that has gone away closes nothing
    this.socket.setKeepAlive(true, KEEP_ALIVE_MS)
    this.socket.setTimeout(connectMs, () => this.lose(`nobody answers at ${where} within ${connectMs / 1000} s`))
    this.socket.once('connect', () => {
      this.socket.removeAllListeners('timeout')
      this.socket.setTimeout(idleMs)
      this.socket.on('timeout', () => {
        void onSilence(this.socket).then(why => {
          if (why !== undefined) this.lose(why)
          else if (!this.socket.destroyed) this.socket.setTimeout(idleMs)
        })
      })
    })
    this.socket.on('data', (text: string) => this.read(text))
    this.socket.on('drain', () => this.wake?.())
    // EPIPE and ECONNRESET mean that clamd refused while we were sending; an answer given before still counts
    this.socket.on('error', error => {
      this.failure ??= unavailable(
        `the connection to ${where} failed: ${systemErrorInWords(error) ?? error.message}`,
        error,
      )
    })
    this.socket.on('close', () => {
      this.failure ??= unavailable(
        this.text === ''
          ? 'it closed the connection without an answer'
          : 'it closed the connection in the middle of its answer',
      )
      this.wake?.()
    })
  }

  private read(text: string): void {
    this.text += text
    const end = this.text.indexOf('\0')
    if (end >= 0) {
      this.answer ??= this.text.slice(0, end)
      this.wake?.()
    } else if (this.text.length > ANSWER_BYTES) {
      this.lose('its answer does not end')
    }
  }

  private lose(why: string): void {
    this.failure ??= unavailable(why)
    this.socket.destroy()
  }

  /** False once sending more is useless: there is an answer, or the connection is lost. */
  get takesMore(): boolean {
    return this.answer === undefined && this.failure === undefined && !this.socket.destroyed
  }

  private async change(): Promise<void> {
    await new Promise<void>(resolve => {
      this.wake = resolve
    })
    this.wake = undefined
  }

  /** Sends, and waits while the other side is slower. */
  async send(parts: readonly (string | Uint8Array)[]): Promise<void> {
    this.socket.cork()
    for (const part of parts) this.socket.write(part)
    this.socket.uncork()
    while (this.takesMore && this.socket.writableNeedDrain) await this.change()
  }

  /** @throws EngineUnavailable when it closed without a whole answer */
  async whole(): Promise<string> {
    while (this.answer === undefined && this.failure === undefined) await this.change()
    if (this.answer !== undefined) return this.answer
    throw this.failure ?? unavailable('it closed the connection')
  }
}

/** Runs `work` over a connection and closes it, also when the caller gives up. @throws the signal's reason */
async function overLine<T>(
  address: ClamdAddress,
  options: Deadlines & { readonly signal?: AbortSignal },
  work: (line: Line) => Promise<T>,
  onSilence = async (_: Socket): Promise<string | undefined> => `it said nothing for ${options.idleMs / 1000} s`,
): Promise<T> {
  options.signal?.throwIfAborted()
  const line = new Line(address, options, onSilence)
  const stop = (): void => {
    line.socket.destroy()
  }
  options.signal?.addEventListener('abort', stop, { once: true })
  try {
    return await work(line)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw error
  } finally {
    options.signal?.removeEventListener('abort', stop)
    line.socket.destroy()
  }
}

/** One command without a body, such as `PING` or `VERSION`. @throws EngineUnavailable */
export function askClamd(
  address: ClamdAddress,
  command: string,
  options: Deadlines & { readonly signal?: AbortSignal },
): Promise<string> {
  return overLine(address, options, async line => {
    await line.send([`z${command}\0`])
    return line.whole()
  })
}

/**
 * Asks by PING whether a silent clamd is busy or gone. @returns why to give up on it; undefined where it answers
 */
function createPatience(
  address: ClamdAddress,
  { connectMs, idleMs, pingMs, mostMs }: ScanDeadlines,
): (socket: Socket) => Promise<string | undefined> {
  let silentMs = 0
  let bytes = -1
  return async socket => {
    const now = socket.bytesRead + socket.bytesWritten
    silentMs = now === bytes ? silentMs + idleMs : idleMs
    bytes = now
    if (silentMs >= mostMs) return `it did not answer within ${mostMs / 1000} s`
    const over = new AbortController()
    const stop = (): void => over.abort()
    socket.once('close', stop)
    try {
      const answer = await askClamd(address, 'PING', { connectMs, idleMs: pingMs, signal: over.signal })
      return answer === 'PONG' ? undefined : `it answered ${JSON.stringify(answer.slice(0, 120))} to PING`
    } catch {
      return `it said nothing for ${idleMs / 1000} s and does not answer PING`
    } finally {
      socket.off('close', stop)
    }
  }
}

export interface StreamAnswer {
  readonly text: string
  readonly sentBytes: number
  /** False when it answered before everything was sent: the answer is then about a part. */
  readonly complete: boolean
}

/**
 * Streams bytes with INSTREAM and returns clamd's line as it is. Memory: one chunk. Stops sending once an answer is
 * here. Waits for the answer while clamd answers PING.
 * @throws EngineUnavailable; what reading `chunks` throws, unchanged
 * Source: clamd(8), "INSTREAM": 4-byte length in network order before each chunk, a zero length ends
 */
export function streamToClamd(
  address: ClamdAddress,
  chunks: AsyncIterable<Buffer>,
  options: ScanDeadlines & { readonly signal?: AbortSignal },
): Promise<StreamAnswer> {
  const scan = async (line: Line): Promise<StreamAnswer> => {
    let sentBytes = 0
    await line.send(['zINSTREAM\0'])
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length && line.takesMore; at += BLOCK) {
        const block = chunk.subarray(at, at + BLOCK)
        const length = Buffer.allocUnsafe(4)
        length.writeUInt32BE(block.length)
        await line.send([length, block])
        sentBytes += block.length
      }
      if (!line.takesMore) break
    }
    const complete = line.takesMore
    if (complete) await line.send([Buffer.alloc(4)])
    return { text: await line.whole(), sentBytes, complete }
  }
  return overLine(address, options, scan, createPatience(address, options))
}
