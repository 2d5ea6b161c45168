import { addressOf, ApiProblem, credentialHeaders, problemFrom, tellRefused } from '../../api.ts'
import type { Reply } from '../../wire.ts'

export type Imported = Reply<'POST /security/database'>
interface Sending {
  readonly force: boolean
  readonly distribution: string
  readonly progress: (sent: number) => void
  readonly signal: AbortSignal
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Sends vulnerability data as the body itself, so that gigabytes go from disk to network without being held.
 * XMLHttpRequest and not fetch: only it says how much has been sent.
 * @throws ApiProblem
 */
export function sendData(file: File, { force, distribution, progress, signal }: Sending): Promise<Imported> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const headers = { 'accept': 'application/json', 'content-type': 'application/octet-stream', ...credentialHeaders() }
    request.open(
      'POST',
      addressOf(
        'POST /security/database',
        {},
        { filename: file.name, ...(force ? { force } : {}), ...(distribution === '' ? {} : { distribution }) },
      ),
    )
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = event => {
      if (event.lengthComputable) progress(event.loaded)
    }
    request.upload.onload = () => progress(file.size)
    request.onload = () => {
      const body = parse(request.responseText)
      if (request.status === 200) return resolve(body as Imported) // our own server's shape
      if (request.status === 401) tellRefused(headers)
      reject(problemFrom(request.status, body, { get: name => request.getResponseHeader(name) }))
    }
    request.onerror = () =>
      reject(
        new ApiProblem({
          status: 0,
          code: 'cut_off',
          message: `The connection ended before ${file.name} was taken. What was loaded before is still there; try again.`,
        }),
      )
    request.onabort = () => reject(new DOMException('cancelled', 'AbortError'))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(file)
  })
}
