import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../core/errors.ts'
import type { Distribution } from '../../core/repository.ts'
import type { Queryable } from '../../db/db.ts'
import type { SpooledFile, Spool } from '../../files/spool.ts'
import { refuseUpstream } from '../../formats/upstream-files.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Breaker } from '../../outbound/exchange/breaker.ts'
import type { Answer, Exchange, Question } from '../../outbound/exchange/exchange.ts'
import { NetFault, refuseAll } from '../../outbound/exchange/fault.ts'
import { parseTarget } from '../../outbound/target.ts'
import { openSecret } from './secret.ts'
import { DIGESTS, type RemoteFile } from '../../core/remote-file.ts'

/** What is asked of an upstream: by its address, or by a path below that of the registry. */
export type Headers = Readonly<Record<string, string>>

export interface AskOptions {
  readonly headers?: Headers
  /** GET by default. */
  readonly method?: 'GET' | 'HEAD'
  /** The credential of the registry is not added: the protocol itself says what is sent where. */
  readonly isBare?: true
  readonly signal: AbortSignal
}

/** Asks the registries of others. */
export interface Upstream {
  /**
   * One request; passing faults are tried again. Every answer but 429 and 5xx is one. Its body has to be read or
   * discarded.
   * @param target  a path with a slash in front, below the address of the upstream, or a whole address
   * @throws outbound_failed, outbound_refused, upstream_secret_unreadable
   */
  ask(registry: Distribution, target: string, options: AskOptions): Promise<Answer>
  /**
   * The header Authorization that the upstream wants of this registry; undefined: none is set for that server.
   * @throws upstream_secret_unreadable
   */
  credential(registry: Distribution): Promise<string | undefined>
  /**
   * Fetches a file and compares it with what its index promised.
   * @throws outbound_failed, outbound_refused, upload_too_large; upstream_refused for other bytes, or for none
   */
  download(
    registry: Distribution,
    file: RemoteFile,
    options: { readonly limitBytes: number; readonly signal: AbortSignal },
  ): Promise<SpooledFile>
  /** The same of an answer that has come. */
  receive(
    answer: Answer,
    file: Omit<RemoteFile, 'url'>,
    options: { readonly limitBytes: number; readonly signal: AbortSignal },
  ): Promise<SpooledFile>
}

export interface UpstreamDeps {
  readonly db: Queryable
  readonly exchange: Exchange
  readonly breaker: Breaker
  readonly box: SecretBox
  readonly spool: Pick<Spool, 'receive'>
}

const TRIES = 3
/** What a server is waited for that says how long. */
const LONGEST_WAIT_MS = 15_000

/** A server says of itself that it is out of order; 500 is about what was asked for. */
const OUT_OF_ORDER = new Set([502, 503, 504])
const isPassing = (status: number): boolean => status === 429 || status >= 500

/** The address of the upstream, with a slash at its end. @throws outbound_refused */
const baseOf = ({ registry }: Distribution): URL => parseTarget(`${registry?.upstream?.url ?? ''}/`)

/** Where a path below the upstream, or a whole address, leads. @throws outbound_refused */
const targetOf = (registry: Distribution, target: string): URL =>
  parseTarget(target.startsWith('/') ? `${baseOf(registry).href.slice(0, -1)}${target}` : target)

/** What went wrong with the bytes that came; undefined where they are what the index promised. */
function faultOf({ blob }: SpooledFile, { size, digests }: Omit<RemoteFile, 'url'>): string | undefined {
  if (size !== undefined && size !== blob.size) return `it has ${blob.size} bytes, its index says ${size}`
  for (const name of DIGESTS) {
    const said = digests[name]
    if (said !== undefined && said !== blob[name])
      return `its ${name.toUpperCase()} is ${blob[name]}, its index says ${said}`
  }
  return undefined
}

export function createUpstream({ db, exchange, breaker, box, spool }: UpstreamDeps): Upstream {
  function readSecret(registry: Distribution, sealed: string): string | undefined {
    try {
      return openSecret(box, baseOf(registry).href, sealed)
    } catch (error) {
      // asked without it, the upstream would say of names that they are not there
      return fail('upstream_secret_unreadable', { name: registry.codename, why: (error as Error).message }, error)
    }
  }

  const credential: Upstream['credential'] = async registry => {
    const row = await db.first<{ sealed: string }>('select sealed from registry_secret where codename = $1', [
      registry.codename,
    ])
    if (row === undefined) return undefined
    const secret = readSecret(registry, row.sealed)
    if (secret === undefined) return undefined
    const user = registry.registry?.upstream?.user
    return user === undefined ? `Bearer ${secret}` : `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
  }

  /** A credential goes to the server that it is for, and to no other that its index names. */
  async function credentialFor(registry: Distribution, url: URL): Promise<Headers> {
    if (url.origin !== baseOf(registry).origin) return {}
    const authorization = await credential(registry)
    return authorization === undefined ? {} : { authorization }
  }

  async function once(question: Question, signal: AbortSignal): Promise<Answer> {
    const { url } = question
    const until = breaker.restsUntil(url.host)
    if (until !== undefined)
      throw new NetFault({
        host: url.host,
        why: `it failed several times and is asked again at ${until.toISOString()}`,
      })
    const answer = await exchange(question, signal)
    if (!isPassing(answer.status)) {
      breaker.worked(url.host)
      return answer
    }
    answer.discard()
    const after = Number(answer.headers['retry-after'])
    throw new NetFault({
      host: answer.url.host,
      why: `it answered ${answer.status}`,
      isPassing: true,
      isHosts: OUT_OF_ORDER.has(answer.status),
      ...(Number.isFinite(after) ? { retryAfterMs: after * 1000 } : {}),
    })
  }

  const ask: Upstream['ask'] = async (registry, target, { headers = {}, method = 'GET', isBare, signal }) => {
    const url = targetOf(registry, target)
    const all = isBare === true ? headers : { ...headers, ...(await credentialFor(registry, url)) }
    for (let tried = 1; ; tried++) {
      try {
        return await once({ url, headers: all, method }, signal)
      } catch (error) {
        if (!(error instanceof NetFault)) throw error
        const waitMs = error.retryAfterMs ?? 500 * 3 ** (tried - 1)
        const isOver = tried === TRIES || waitMs > LONGEST_WAIT_MS || breaker.restsUntil(url.host) !== undefined
        if (error.isPassing && !isOver) {
          await sleep(waitMs, undefined, { signal })
          continue
        }
        // once for all tries: one name that a server fails over is no reason to ask it for no other
        if (error.isHosts) breaker.failed(url.host)
        return refuseAll([error])
      }
    }
  }

  const receive: Upstream['receive'] = async (answer, file, { limitBytes, signal }) => {
    const { filename } = file
    let spooled: SpooledFile
    try {
      spooled = await spool.receive(answer.body, { filename, limitBytes, signal })
    } catch (error) {
      answer.discard()
      if (error instanceof NetFault) return refuseAll([error])
      throw error
    }
    const why = faultOf(spooled, file)
    if (why === undefined) return spooled
    await spooled.discard()
    return refuseUpstream(filename, 'wrong_digest', why)
  }

  return {
    ask,
    credential,
    receive,
    async download(registry, file, { limitBytes, signal }) {
      const { filename, url } = file
      const answer = await ask(registry, url, { signal })
      if (answer.status !== 200) {
        answer.discard()
        const { host } = answer.url
        if (answer.status === 404 || answer.status === 410)
          return refuseUpstream(filename, 'missing', `${host} lists it and does not have it`)
        return fail('outbound_failed', { host, why: `it answered ${answer.status}` })
      }
      return receive(answer, file, { limitBytes, signal })
    },
  }
}
