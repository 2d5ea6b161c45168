import { connect, type Socket } from 'node:net'
import { EngineUnavailable } from './scanner.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'

/** Where clamd listens: `LocalSocket`, or `TCPSocket` with `TCPAddr`. */
export type ClamdAddress = { readonly socket: string } | { readonly host: string; readonly port: number }

/** How long clamd may send nothing, in milliseconds. */
export interface Deadlines {
  /** Until it accepts the connection. */
  readonly connectMs: number
  /** Without a byte in either direction. clamd sends nothing while it scans: above its MaxScanTime (120 s). */
  readonly idleMs: number
}

const ENGINE = 'clamav'
// an answer is one line; the name of a virus has a few dozen bytes at most
const ANSWER_BYTES = 4096
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

  constructor(address: ClamdAddress, { connectMs, idleMs }: Deadlines) {
    const where = 'socket' in address ? address.socket : `${address.host}:${address.port}`
    let silence = `nobody answers at ${where} within ${connectMs / 1000} s`
    this.socket = 'socket' in address ? connect(address.socket) : connect(address.port, address.host)
    this.socket.setEncoding('latin1')
    this.socket.setNoDelay(true)
    this.socket.setTimeout(connectMs, () => this.lose(silence))
    this.socket.once('connect', () => {
      silence = `it said nothing for ${idleMs / 1000} s`
      this.socket.setTimeout(idleMs)
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
): Promise<T> {
  options.signal?.throwIfAborted()
  const line = new Line(address, options)
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

export interface StreamAnswer {
  readonly text: string
  readonly sentBytes: number
  /** False when it answered before everything was sent: the answer is then about a part. */
  readonly complete: boolean
}

/**
 * Streams bytes with INSTREAM and returns clamd's line as it is. Memory: one chunk. Stops sending once an answer is
 * here.
 * @throws EngineUnavailable; what reading `chunks` throws, unchanged
 * Source: clamd(8), "INSTREAM": 4-byte length in network order before each chunk, a zero length ends
 */
export function streamToClamd(
  address: ClamdAddress,
  chunks: AsyncIterable<Buffer>,
  options: Deadlines & { readonly signal?: AbortSignal },
): Promise<StreamAnswer> {
  return overLine(address, options, async line => {
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
  })
}
