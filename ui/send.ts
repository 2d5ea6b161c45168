import { addressOf, ApiProblem, credentialHeaders, problemFrom, tellRefused } from './api.ts'
import { createEventReader } from './sse.ts'
import { spoken } from './server-texts.ts'
import { seen } from './unseen.ts'

/** Where a file goes, and how. */
export interface Way {
  readonly key:
    | 'POST /upload/stream'
    | 'POST /security/database'
    | 'POST /security/packages/{name}/{version}/vex'
    | 'PUT /distributions/{codename}/documents/{kind}'
    | 'PUT /bundles/uploads/{id}'
    | 'POST /bundles/receipts'
    | 'POST /machine/updates'
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  /** Sends a form with these fields before the file, so that a wrong one is refused at once; else the bare bytes. */
  readonly form?: Readonly<Record<string, string>>
  /** Called for each event before the answer; the answer is then a stream of events. */
  readonly told?: (event: Readonly<Record<string, unknown>>) => void
  /** What a connection that ended early means for the file. */
  readonly cutOff: (reached: 'sending' | 'server') => string
}

export interface Watch {
  /** Bytes of the file that are sent. */
  readonly progress: (sent: number) => void
  readonly signal: AbortSignal
}

type Told = Readonly<Record<string, unknown>>

function parse(text: string): Told | undefined {
  try {
    const value: unknown = spoken(JSON.parse(seen(text)))
    return typeof value === 'object' && value !== null ? (value as Told) : undefined
  } catch {
    return undefined // a proxy's page is no answer of ours
  }
}

/** Reads the events of a request as they come: the last one is the result or a refusal, the others are handed on. */
function createReader(hand: (event: Told) => void): {
  take(text: string): void
  readonly end: { result?: unknown; refused?: ApiProblem; any: boolean }
} {
  const read = createEventReader()
  const end: { result?: unknown; refused?: ApiProblem; any: boolean } = { any: false }
  let taken = 0
  return {
    end,
    take(text) {
      const piece = text.slice(taken)
      taken += piece.length
      end.any ||= piece !== ''
      for (const { event, data } of read(piece)) {
        const told = parse(data)
        if (told?.result !== undefined) end.result = told.result
        else if (event === 'error' || told?.code !== undefined)
          end.refused = problemFrom(Number(told?.status) || 500, told, { get: () => null })
        else if (told !== undefined) hand(told)
      }
    },
  }
}

/**
 * Sends one file and waits for what the server makes of it. XMLHttpRequest and not fetch: only it says how much has
 * been sent, and it reads the file from disk while it sends.
 * @returns the answer as the route's contract has it
 * @throws ApiProblem; code `cut_off` when the connection ended before the answer
 * @throws DOMException `AbortError` after `signal`
 */
export function sendFile(file: File, way: Way, { progress, signal }: Watch): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const events = way.told === undefined ? undefined : createReader(way.told)
    const headers: Record<string, string> = {
      accept: events === undefined ? 'application/json' : 'text/event-stream',
      ...(way.form === undefined ? { 'content-type': 'application/octet-stream' } : {}),
      ...credentialHeaders(),
    }
    let isSent = false

    const isTaken = (): boolean => request.status >= 200 && request.status < 300
    function take(): void {
      if (isTaken()) events?.take(request.responseText)
    }
    function finish(): void {
      take()
      const answer = events === undefined && isTaken() ? parse(request.responseText) : events?.end.result
      if (answer !== undefined) return resolve(answer)
      if (events?.end.refused !== undefined) return reject(events.end.refused)
      if (request.status === 401) tellRefused(headers)
      if (request.status >= 400) {
        const header = (name: string): string | null => request.getResponseHeader(name)
        return reject(problemFrom(request.status, parse(request.responseText), { get: header }))
      }
      const reached = isSent || events?.end.any === true ? 'server' : 'sending'
      reject(new ApiProblem({ status: 0, code: 'cut_off', message: way.cutOff(reached) }))
    }

    request.open(way.key.slice(0, way.key.indexOf(' ')), addressOf(way.key, way.params, way.query))
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = event => progress(event.lengthComputable ? Math.min(file.size, event.loaded) : 0)
    request.upload.onload = () => {
      isSent = true
      progress(file.size)
    }
    request.onprogress = take
    request.onload = finish
    request.onerror = finish
    request.onabort = () => reject(new DOMException('cancelled', 'AbortError'))
    signal.addEventListener('abort', () => request.abort(), { once: true })

    if (way.form === undefined) return request.send(file)
    const form = new FormData()
    for (const [name, value] of Object.entries(way.form)) form.append(name, value)
    form.append('file', file, file.name)
    request.send(form)
  })
}
