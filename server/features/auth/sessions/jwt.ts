import { jwtVerify, SignJWT } from 'jose'
import { webcrypto } from 'node:crypto'
import { isRole, type Role } from '../../../core/access.ts'
import { fail } from '../../../core/errors.ts'
import type { Clock } from '../../../lib/clock.ts'

/**
 * What a token is for: everything its role may, the second step of a login, or setting up the second factor. None can
 * replace another.
 */
export type Use = 'access' | 'mfa_challenge' | 'mfa_setup_required'

/** The content of a token. `credentialsAt` is when the account's password was set, in milliseconds since 1970. */
export interface Claims {
  readonly username: string
  readonly role: Role
  readonly id: string
  readonly credentialsAt: number
  readonly expiresAt: Date
}

export interface NewJwt {
  readonly use: Use
  readonly username: string
  readonly role: Role
  readonly credentialsAt: Date
  readonly id: string
  readonly expiresAt: Date
}

export interface Tokens {
  issue(token: NewJwt): Promise<string>
  /** @throws bad_credential for anything but a valid token of this server for this use */
  read(token: string, use: Use): Promise<Claims>
}

const ISSUER = 'gatehouse'
const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

/**
 * Signed tokens: JWT, HS256. `cred` ties a token to the password it was given for, so no clock is needed to end it.
 * `jti` of an access token names its session.
 */
export function createTokens({ secret, clock }: { readonly secret: string; readonly clock: Clock }): Tokens {
  // imported once: jose would do so again for each token, which is a hop to another thread
  const importing = webcrypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  )
  importing.catch(() => undefined) // each use gets the error
  return {
    async issue({ use, username, role, credentialsAt, id, expiresAt }) {
      const scope = use === 'access' ? {} : { scope: use }
      return new SignJWT({ role, roles: [role], cred: credentialsAt.getTime(), use, ...scope })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(username)
        .setIssuer(ISSUER)
        .setJti(id)
        .setIssuedAt(seconds(clock.now()))
        .setExpirationTime(seconds(expiresAt))
        .sign(await importing)
    },
    async read(token, use) {
      try {
        const { payload } = await jwtVerify(token, await importing, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          currentDate: clock.now(),
          requiredClaims: ['sub', 'jti', 'exp', 'iat'],
        })
        if (payload.use !== use || !isRole(payload.role) || typeof payload.cred !== 'number') fail('bad_credential', {})
        return {
          username: payload.sub ?? '',
          role: payload.role as Role,
          id: payload.jti ?? '',
          credentialsAt: payload.cred as number,
          expiresAt: new Date((payload.exp ?? 0) * 1000),
        }
      } catch (cause) {
        return fail('bad_credential', {}, cause)
      }
    },
  }
}
