import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import type { IncomingMessage } from 'node:http'
import { createEventReader } from '../../ui/sse.ts'
import { headerOf, readJson, Untrusted, type Ask } from './pinned-client.ts'

type Told = Readonly<Record<string, unknown>>

/** What an upload is refused with, in the words of the server or of this computer. */
export interface UploadProblem {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly limit: number | null
  /** Seconds, from a 429. */
  readonly retryAfter?: number
}
export class UploadRefused extends Error {
  readonly problem: UploadProblem

  constructor(problem: UploadProblem) {
    super(problem.message)
    this.name = 'UploadRefused'
    this.problem = problem
  }
}

interface Sending {
  readonly path: string
  readonly fields: Readonly<Record<string, string>>
  readonly token: string
  readonly signal: AbortSignal
  readonly request: (ask: Ask) => Promise<IncomingMessage>
  readonly progress: (sent: number, size: number) => void
  readonly told: (event: Told) => void
}

const refuse = (code: string, message: string, more: Partial<UploadProblem> = {}): UploadRefused =>
  new UploadRefused({ status: 0, limit: null, ...more, code, message })

/** A name as it may stand in a header: RFC 7578, section 4.2, with what would end the quotes encoded. */
const quoted = (name: string): string => name.replace(/[\r\n"]/g, sign => encodeURIComponent(sign))

/** The size of a file that is there and can be read. */
async function sizeOf(path: string): Promise<number> {
  try {
    const found = await stat(path)
    if (found.isFile()) return found.size
  } catch {
    /* said below */
  }
  throw refuse(
    'file_gone',
    `${basename(path)} is not at its place on this computer any more. Add it again from where it is now.`,
  )
}

/** A form with its file last, read from disk as it is sent: a wrong field is refused before it. */
function formOf({ path, fields, progress }: Sending, size: number): { body: Readable; type: string; length: number } {
  const boundary = `gatehouse-${randomBytes(16).toString('hex')}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = Buffer.from(
    `${parts.join('')}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted(basename(path))}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* pieces(): AsyncGenerator<Buffer> {
    yield head
    let sent = 0
    // no further than the length that was told, should the file grow meanwhile
    if (size > 0)
      for await (const piece of createReadStream(path, {
        end: size - 1,
        highWaterMark: 256 * 1024,
      }) as AsyncIterable<Buffer>) {
        yield piece
        sent += piece.length
        progress(sent, size)
      }
    if (sent !== size)
      throw refuse('file_changed', `${basename(path)} was changed while it was sent. Nothing was kept; try again.`)
    progress(size, size)
    yield tail
  }
  return {
    body: Readable.from(pieces(), { objectMode: false, highWaterMark: 256 * 1024 }),
    type: `multipart/form-data; boundary=${boundary}`,
    length: head.length + size + tail.length,
  }
}

const isRecord = (value: unknown): value is Told => typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): Told | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A server that asks for more is asked again after an hour. */
const LONGEST_WAIT_S = 3600
/** The gate has seven steps, and tells each a few times. */
const MOST_TOLD = 1000

/** A refusal in the server's words. */
function problemIn(status: number, told: Told, retryAfter?: string): UploadRefused {
  const detail = isRecord(told.detail) ? told.detail : {}
  const facts = isRecord(told.facts) ? told.facts : detail
  // a 422 says what was wrong with each field
  const listed = (Array.isArray(told.detail) ? told.detail : [])
    .flatMap(one => (isRecord(one) ? [String(one.msg)] : []))
    .join('. ')
  const wait = Number(retryAfter ?? detail.retry_after ?? NaN)
  const message =
    typeof told.detail === 'string'
      ? told.detail
      : String(detail.message ?? told.message ?? (listed || `The server answered ${status}.`))
  return refuse(String(told.code ?? detail.error ?? status).slice(0, 100), message.slice(0, 2000), {
    status,
    limit: Math.trunc(Number(facts.limit_mb ?? facts.limit)) || null,
    ...(Number.isFinite(wait) ? { retryAfter: Math.min(Math.max(1, wait), LONGEST_WAIT_S) } : {}),
  })
}

/** Reads what the gate tells, and returns the result. */
async function readAnswer(answer: IncomingMessage, { told, path }: Sending): Promise<unknown> {
  const events = createEventReader()
  let result: unknown
  let toldSoFar = 0
  answer.setEncoding('utf8')
  for await (const piece of answer as AsyncIterable<string>)
    for (const { event, data } of events(piece)) {
      const said = parse(data)
      if (said?.result !== undefined) result = said.result
      else if (said !== undefined && (event === 'error' || said.code !== undefined))
        throw problemIn(Number(said.status) || 500, said)
      else if (said !== undefined && ++toldSoFar <= MOST_TOLD) told(said)
    }
  if (result !== undefined) return result
  throw refuse(
    'cut_off',
    `The connection ended while ${basename(path)} was at the gate. The server may have finished alone: try again, the same bytes are never stored twice.`,
  )
}

/**
 * Sends one package from disk and waits for what the gate makes of it.
 * @returns the result as the route has it
 * @throws UploadRefused, Untrusted; an AbortError after `signal`
 */
export async function sendUpload(sending: Sending): Promise<unknown> {
  const { path, token, signal, request } = sending
  const { body, type, length } = formOf(sending, await sizeOf(path))
  let answer: IncomingMessage
  try {
    answer = await request({
      method: 'POST',
      path: '/api/v1/upload/stream',
      headers: {
        'accept': 'text/event-stream',
        'authorization': `Bearer ${token}`,
        'content-type': type,
        'content-length': length,
      },
      body,
      signal,
      silenceMs: 0,
    })
    if (answer.statusCode !== 200) {
      const said = await readJson(answer).catch(() => ({}))
      throw problemIn(answer.statusCode ?? 0, isRecord(said) ? said : {}, headerOf(answer.headers, 'retry-after'))
    }
    return await readAnswer(answer, sending)
  } catch (error) {
    if (signal.aborted || error instanceof UploadRefused || error instanceof Untrusted) throw error
    throw refuse('cut_off', `The connection ended before ${basename(path)} was whole. Nothing was kept; try again.`)
  } finally {
    body.destroy()
  }
}
