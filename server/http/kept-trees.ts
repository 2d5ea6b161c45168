import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Distribution, Repositories } from '../core/repository.ts'
import { answerFor } from './file-answer.ts'
import type { Found, KeptFiles } from './kept-files.ts'
import { HARDENING, ONLY_TLS, requestIdOf, type Caller, type Served } from './request-facts.ts'

/** What an address of a tree depended on when its file was found. */
export interface TreeAddress {
  /** What the names in it stood for: a changed distribution may mean another file, or none. */
  readonly named: readonly (readonly [codename: string, distribution: Distribution | undefined])[]
  /** `/repos/`, for metrics. */
  readonly root: string
}

export interface KeptTreesDeps {
  readonly kept: KeptFiles<TreeAddress>
  readonly repositories: Pick<Repositories, 'find'>
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  readonly production: boolean
  readonly callerOf: (request: IncomingMessage) => Caller
  readonly record: (request: IncomingMessage, response: ServerResponse, served: () => Served) => void
}

/** What every answer has that is made here; `Origin` because the others differ by it. */
const ALWAYS = Object.entries({ ...HARDENING, Vary: 'Origin' }).flat()
const TLS = Object.entries(ONLY_TLS).flat()

/** A request that asks for nothing but a file: no body to read away, no page of another origin that may read it. */
function isPlain({ method, headers }: IncomingMessage): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers.origin === undefined &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined
  )
}

/** @returns how many bytes the body has */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  { file, isSecure, requestId }: { readonly file: Found; readonly isSecure: boolean; readonly requestId: string },
): number {
  const { status, headers, range } = answerFor(request, file.version, file, Date.now())
  const all = [...ALWAYS, 'X-Request-ID', requestId]
  if (isSecure) all.push(...TLS)
  for (const name in headers) all.push(name, headers[name] ?? '')
  response.writeHead(status, all)
  const isEmpty = range === undefined || request.method === 'HEAD'
  if (isEmpty) response.end()
  else if (status === 206) response.end(file.bytes.subarray(range.start, range.end + 1))
  else if (file.text === undefined) response.end(file.bytes)
  else response.end(file.text, 'latin1')
  return isEmpty ? 0 : range.end - range.start + 1
}

/**
 * Which distributions are private, asked for once in each turn of the event loop: the requests of one turn had all
 * arrived before it was answered.
 */
function createClosed(privateTrees: KeptTreesDeps['privateTrees']): {
  /** What is known in this turn. */
  now(): ReadonlySet<string> | undefined
  ask(): Promise<ReadonlySet<string>>
} {
  let known: ReadonlySet<string> | undefined
  return {
    now: () => known,
    async ask() {
      const closed = await privateTrees()
      if (known === undefined)
        setImmediate(() => {
          known = undefined
        })
      known = closed
      return closed
    },
  }
}

/**
 * Answers requests for files of public trees that are in memory, as `trees.ts` would, without Koa: a tenth of the cost.
 * @returns whether it has answered; otherwise nothing was done
 */
export function createKeptTrees({
  kept,
  repositories,
  privateTrees,
  production,
  callerOf,
  record,
}: KeptTreesDeps): (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean> {
  const closedTrees = createClosed(privateTrees)
  function answer(request: IncomingMessage, response: ServerResponse, closed: ReadonlySet<string>): boolean {
    const { url = '', method = '' } = request
    const file = kept.find(url)
    if (file === undefined) return false
    const { root, named } = file
    if (named.some(([name, was]) => repositories.find(name) !== was || closed.has(name))) return false
    const { ip, isSecure } = callerOf(request)
    const requestId = requestIdOf(request)
    let bytes = 0
    record(request, response, () => ({
      requestId,
      method,
      route: root,
      path: url,
      status: response.statusCode,
      ip,
      user: undefined,
      tree: { bytes },
    }))
    bytes = send(request, response, { file, isSecure: production && isSecure, requestId })
    return true
  }
  return (request, response) => {
    if (!isPlain(request) || !kept.has(request.url ?? '')) return false
    const closed = closedTrees.now()
    return closed === undefined
      ? closedTrees.ask().then(asked => answer(request, response, asked))
      : answer(request, response, closed)
  }
}
