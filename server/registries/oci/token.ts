import { createHash } from 'node:crypto'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { allows } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Clock } from '../../lib/clock.ts'
import { oci } from '../../formats/oci/index.ts'
import type { Caller, RegistryAnswer, RootRequest } from '../protocol.ts'
import { refuseAs } from './answers.ts'

/** Source: the token specification of distribution, "expires_in": at least 60 s. */
const LIFE_SECONDS = 300
const MOST_SCOPES = 50
const ISSUER = 'gatehouse'
const AUDIENCE = 'gatehouse-oci'

export type ScopeAction = 'pull' | 'push' | 'delete'

/** What one token may do with one repository, `registry/name`. */
interface Grant {
  readonly name: string
  readonly actions: readonly ScopeAction[]
}

/** What a token of the exchange says. */
export interface Exchanged {
  /** The header Authorization that it was given for; undefined for one that was given to nobody. */
  readonly authorization: string | undefined
  readonly grants: readonly Grant[]
}

/** The exchange of a credential for a token that lasts five minutes and is good for some repositories. */
export interface Tokens {
  /** @throws bad_credential for one that has expired or is none of ours; undefined for a credential of another kind */
  read(authorization: string): Promise<Exchanged | undefined>
  /** Answers `GET /v2/token`. */
  exchange(request: RootRequest): Promise<RegistryAnswer>
}

/** `repository:ours/app:pull,push`, as many as there are. */
function askedOf(query: URLSearchParams): readonly { readonly name: string; readonly actions: readonly string[] }[] {
  const scopes = query.getAll('scope').flatMap(scope => scope.split(' ').filter(one => one !== ''))
  if (scopes.length > MOST_SCOPES) refuseAs(400, 'UNSUPPORTED', `A token is for at most ${MOST_SCOPES} repositories.`)
  return scopes.flatMap(scope => {
    const [, name, actions] = /^repository(?:\([^)]*\))?:([^:]{1,400}):([a-z,*]*)$/.exec(scope) ?? []
    return name === undefined || actions === undefined ? [] : [{ name, actions: actions.split(',') }]
  })
}

/** What the role of a caller allows of what is asked. What is done with it is checked again at each request. */
function grantedOf(asked: readonly string[], { who }: Pick<Caller, 'who'>): readonly ScopeAction[] {
  const wants = (action: ScopeAction): boolean => asked.includes(action) || asked.includes('*')
  const has: Readonly<Record<ScopeAction, boolean>> = {
    pull: true,
    push: allows('uploader+', who?.role),
    delete: allows('maintainer+', who?.role),
  }
  return (['pull', 'push', 'delete'] as const).filter(action => wants(action) && has[action])
}

interface Claims {
  readonly for?: string
  readonly access?: readonly Grant[]
}

/**
 * Tokens that carry the credential they were given for, encrypted: whoever revokes that ends them, too, and nothing is
 * kept. JWE, AES-256-GCM. Source: RFC 7516; distribution, "Token Authentication Specification".
 */
export function createTokens({
  jwtSecret,
  clock,
  repositories,
}: {
  readonly jwtSecret: string
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'seenBy'>
}): Tokens {
  const key = createHash('sha256').update(`oci token\0${jwtSecret}`).digest()

  const tokens: Tokens = {
    async read(authorization) {
      const [, token] = /^Bearer +([\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization) ?? []
      if (token === undefined) return undefined
      try {
        const { payload } = await jwtDecrypt<Claims>(token, key, {
          issuer: ISSUER,
          audience: AUDIENCE,
          currentDate: clock.now(),
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        })
        return { authorization: payload.for, grants: payload.access ?? [] }
      } catch (cause) {
        return fail('bad_credential', {}, cause)
      }
    },
    async exchange({ query, headers, caller }) {
      const seen = repositories.seenBy(caller.viewer)
      const grants = askedOf(query).flatMap(({ name, actions }): Grant[] => {
        const isSeen = seen.find(name.split('/')[0] ?? '')?.format === oci.id
        const granted = isSeen ? grantedOf(actions, caller) : []
        return granted.length === 0 ? [] : [{ name, actions: granted }]
      })
      const { authorization } = headers
      // a token that was given for a token would outlive it
      if (authorization !== undefined && (await tokens.read(authorization)) !== undefined) fail('bad_credential', {})
      const now = Math.floor(clock.now().getTime() / 1000)
      const claims: Claims = { ...(authorization === undefined ? {} : { for: authorization }), access: grants }
      const token = await new EncryptJWT({ ...claims })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt(now)
        .setExpirationTime(now + LIFE_SECONDS)
        .encrypt(key)
      return {
        status: 200,
        headers: { 'Cache-Control': 'no-store' },
        body: {
          kind: 'json',
          json: { token, access_token: token, expires_in: LIFE_SECONDS, issued_at: new Date(now * 1000).toISOString() },
        },
      }
    },
  }
  return tokens
}
