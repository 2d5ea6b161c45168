import { addressOf, ApiProblem, credentialHeaders, problemFrom, tellRefused } from './api.ts'
import { spoken } from './server-texts.ts'
import { seen } from './unseen.ts'

/**
 * Routes that answer with a file. A plain link cannot carry the credential, so the console fetches and hands it to the
 * browser.
 */
type FileKey =
  | 'POST /support/bundle'
  | 'GET /artifacts/audit/export'
  | 'GET /inventory/export'
  | 'GET /security/report'
  | 'GET /sbom/export'
  | 'GET /sbom/{name}/{version}'
  | 'GET /bundles/{id}/download'
  | 'GET /bundles/senders/{id}/receipt'
interface Ask {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
}

function nameFrom(header: string | null, otherwise: string): string {
  return /filename="?([^";]+)"?/.exec(header ?? '')?.[1] ?? otherwise
}

/** Hands a file to the browser, which saves it. @returns its name */
export function saveFile(name: string, body: Blob): string {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(body)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000) // the browser reads it after the click
  return name
}

/** Fetches a file and saves it under the server's name for it, or `otherwise`. @throws ApiProblem */
export async function download(key: FileKey, ask: Ask, otherwise: string): Promise<string> {
  const headers = credentialHeaders()
  let response: Response
  let body: Blob
  try {
    const [method = 'GET'] = key.split(' ')
    response = await fetch(addressOf(key, ask.params, ask.query), {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
    })
    body = await response.blob()
  } catch {
    throw new ApiProblem({
      status: 0,
      code: 'no_answer',
      message: 'The connection ended before the file was whole. Try again.',
    })
  }
  if (!response.ok) {
    if (response.status === 401) tellRefused(headers)
    let said: unknown
    try {
      said = spoken(JSON.parse(seen(await body.text())))
    } catch {
      said = undefined
    } // a proxy's page is no answer of ours
    throw problemFrom(response.status, said, response.headers)
  }
  return saveFile(nameFrom(response.headers.get('content-disposition'), otherwise), body)
}
