import { addressOf, ApiProblem, credentialHeaders, problemFrom, tellRefused } from '../../api.ts'
import { createEventReader } from '../../sse.ts'
import type { UploadResult } from '../../wire.ts'

/** One event of `POST /upload/stream`. */
export interface StepEvent {
  readonly step: string
  readonly status: string
  readonly message: string
  readonly verdict?: string
  readonly detail?: string
}

export interface Sending {
  readonly progress: (sent: number) => void
  readonly step: (event: StepEvent) => void
  readonly signal: AbortSignal
}

type Told = Partial<Omit<StepEvent, 'status'>> & {
  readonly status?: string | number
  readonly result?: UploadResult
  readonly code?: string
  readonly detail?: unknown
}

function parse(text: string): Told | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Told) : undefined // our own server's events
  } catch {
    return undefined
  }
}

/**
 * Sends one file and follows it through the gate. XMLHttpRequest and not fetch: only it says how much has been sent.
 * @throws ApiProblem; code `cut_off` when the answer ended before the result: nobody knows then whether the package
 *   is in
 */
export function sendFile(file: File, distribution: string, { progress, step, signal }: Sending): Promise<UploadResult> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const headers = { accept: 'text/event-stream', ...credentialHeaders() }
    const read = createEventReader()
    let taken = 0
    let result: UploadResult | undefined
    let refused: ApiProblem | undefined

    function take(): void {
      if (request.status !== 200 && request.status !== 201) return
      const piece = request.responseText.slice(taken)
      taken += piece.length
      for (const { event, data } of read(piece)) {
        const told = parse(data)
        if (told?.result !== undefined) result = told.result
        else if (event === 'error' || told?.code !== undefined) {
          refused = problemFrom(Number(told?.status) || 500, told, { get: () => null })
        } else if (told?.step !== undefined)
          step({ ...told, step: told.step, status: String(told.status), message: told.message ?? '' })
      }
    }
    function end(): void {
      take()
      if (result !== undefined) return resolve(result)
      if (refused !== undefined) return reject(refused)
      if (request.status === 401) tellRefused(headers)
      if (request.status >= 400)
        return reject(
          problemFrom(request.status, parse(request.responseText), { get: name => request.getResponseHeader(name) }),
        )
      reject(
        new ApiProblem({
          status: 0,
          code: 'cut_off',
          message:
            taken > 0
              ? `The connection ended while ${file.name} was at the gate. The server may have finished alone: try again, the same bytes are never stored twice.`
              : `The connection ended before ${file.name} was whole. Nothing was kept; try again.`,
        }),
      )
    }

    request.open('POST', addressOf('POST /upload/stream'))
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = event => progress(event.lengthComputable ? Math.min(file.size, event.loaded) : 0)
    request.upload.onload = () => progress(file.size)
    request.onprogress = take
    request.onload = end
    request.onerror = end
    request.onabort = () => reject(new DOMException('cancelled', 'AbortError'))
    signal.addEventListener('abort', () => request.abort(), { once: true })

    const form = new FormData()
    form.append('distribution', distribution) // before the file, so that a wrong one is refused at once
    form.append('file', file, file.name)
    request.send(form)
  })
}
