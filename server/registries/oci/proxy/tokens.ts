import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { fail } from '../../../core/errors.ts'
import type { Distribution } from '../../../core/repository.ts'
import { parsing, refuseUpstream } from '../../../formats/upstream-files.ts'
import type { Clock } from '../../../lib/clock.ts'
import { malformed } from '../../../lib/limited.ts'
import { parseTarget } from '../../../outbound/target.ts'
import type { Upstream } from '../../remote/upstream.ts'
import { readAnswer } from './answer.ts'
import { readChallenge, type Challenge } from './challenge.ts'
import type { Place } from './place.ts'

/** What is sent to upstreams as the header Authorization: tokens of their exchange, or the credential itself. */
export interface UpstreamTokens {
  /** What a repository took last and takes still; undefined: nothing is known to be needed. */
  kept(registry: Distribution, place: Place): Promise<string | undefined>
  /**
   * What answers a 401, from now on kept.
   * @param asked  the header `WWW-Authenticate`
   * @returns undefined where the registry has nothing to send
   * @throws outbound_failed, outbound_refused, upstream_refused
   */
  get(registry: Distribution, place: Place, asked: TokenQuestion): Promise<string | undefined>
}

export interface TokenQuestion {
  readonly headers: IncomingHttpHeaders
  readonly signal: AbortSignal
}

const MOST_BYTES = 64 * 1024
const MOST_KEPT = 1_000
/** Source: distribution, "Token Authentication Specification", `expires_in`. */
const LIFE_SECONDS = 60
const LONGEST_SECONDS = 3_600
/** What a header may hold. Source: RFC 6750, 2.1, and what tokens have in the field. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/

/** The token of an answer, and how long it lasts. @throws Malformed */
function readToken(bytes: Buffer): { readonly token: string; readonly seconds: number } {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return malformed('it is no JSON', error)
  }
  const { token, access_token: other, expires_in: life } = (json ?? {}) as Readonly<Record<string, unknown>>
  const found = token ?? other
  if (typeof found !== 'string' || !TOKEN.test(found)) return malformed('it holds no token')
  const seconds = typeof life === 'number' && life > 0 ? life : LIFE_SECONDS
  return { token: found, seconds: Math.min(seconds, LONGEST_SECONDS) }
}

/** Makes tokens that are kept in memory until a fifth of their life is left. */
export function createUpstreamTokens({
  upstream,
  clock,
}: {
  readonly upstream: Pick<Upstream, 'ask' | 'credential'>
  readonly clock: Clock
}): UpstreamTokens {
  const all = new Map<string, { readonly authorization: string; readonly until: number }>()

  /** Another credential has other tokens. */
  const keyOf = (registry: Distribution, { origin, name }: Place, credential = ''): string =>
    createHash('sha256')
      .update(JSON.stringify([registry.codename, origin, name, credential]))
      .digest('hex')

  function keep(key: string, authorization: string, seconds: number): string {
    all.delete(key)
    all.set(key, { authorization, until: clock.now().getTime() + seconds * 800 })
    const [oldest] = all.keys()
    if (all.size > MOST_KEPT && oldest !== undefined) all.delete(oldest)
    return authorization
  }

  /** Where a token is got; the credential goes there only by the way that its registry has. @throws upstream_refused */
  function realmOf({ realm, service, scope }: Extract<Challenge, { kind: 'bearer' }>, place: Place): URL {
    const url = parseTarget(realm)
    if (service !== undefined) url.searchParams.set('service', service)
    url.searchParams.set('scope', scope ?? `repository:${place.name}:pull`)
    return url
  }

  async function exchange(
    registry: Distribution,
    realm: URL,
    { credential, signal }: { readonly credential: string | undefined; readonly signal: AbortSignal },
  ) {
    const answer = await upstream.ask(registry, realm.href, {
      isBare: true,
      headers: { accept: 'application/json', ...(credential === undefined ? {} : { authorization: credential }) },
      signal,
    })
    const { status } = answer
    if (status !== 200) {
      answer.discard()
      const why =
        credential === undefined
          ? 'it gives none without a credential, and the registry has none'
          : 'the credential of the registry may be wrong'
      return fail('outbound_failed', {
        host: realm.host,
        why: `it answered ${status} to a request for a token: ${why}`,
      })
    }
    const what = `the token of ${realm.host}`
    const bytes = await readAnswer(answer, what, MOST_BYTES)
    return parsing(what, () => readToken(bytes))
  }

  return {
    async kept(registry, place) {
      const found = all.get(keyOf(registry, place, await upstream.credential(registry)))
      return found !== undefined && found.until > clock.now().getTime() ? found.authorization : undefined
    },
    async get(registry, place, { headers, signal }) {
      const credential = await upstream.credential(registry)
      const key = keyOf(registry, place, credential)
      all.delete(key)
      const challenge = readChallenge(headers['www-authenticate'] ?? '')
      if (challenge?.kind !== 'bearer')
        return credential === undefined ? undefined : keep(key, credential, LONGEST_SECONDS)
      const realm = realmOf(challenge, place)
      if (credential !== undefined && realm.protocol !== new URL(place.origin).protocol)
        refuseUpstream(
          `the place of its tokens, ${realm.host}`,
          'untrusted',
          `it is reached by ${realm.protocol.slice(0, -1)} and its registry is not, so the credential is not sent there`,
        )
      const { token, seconds } = await exchange(registry, realm, { credential, signal })
      return keep(key, `Bearer ${token}`, seconds)
    },
  }
}
