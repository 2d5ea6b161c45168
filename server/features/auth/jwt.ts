import { jwtVerify, SignJWT } from 'jose'
import { randomUUID } from 'node:crypto'
import { isRole, type Role } from '../../core/access.ts'
import { fail } from '../../core/errors.ts'
import type { Clock } from '../../lib/clock.ts'

/** What an access token says. `credentialsAt` is when the account's password was set, in milliseconds since 1970. */
export interface Claims { readonly username: string; readonly role: Role; readonly id: string; readonly credentialsAt: number }

export interface Tokens {
  issue(who: { readonly username: string; readonly role: Role; readonly credentialsAt: Date }): Promise<string>
  /** @throws bad_credential for anything but a valid access token of this server */
  read(token: string): Promise<Claims>
}

const ISSUER = 'gatehouse'

/** Session tokens: JWT, HS256, with `jti`. `cred` ties a token to the password it was opened with: clocks play no part in ending it. */
export function createTokens({ secret, minutes, clock }: { readonly secret: string; readonly minutes: number; readonly clock: Clock }): Tokens {
  const key = new TextEncoder().encode(secret)
  return {
    issue({ username, role, credentialsAt }) {
      const now = clock.now().getTime()
      return new SignJWT({ role, roles: [role], cred: credentialsAt.getTime(), use: 'access' }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(username).setIssuer(ISSUER).setJti(randomUUID()).setIssuedAt(Math.floor(now / 1000)).setExpirationTime(Math.floor(now / 1000) + minutes * 60).sign(key)
    },
    async read(token) {
      try {
        const { payload } = await jwtVerify(token, key, { algorithms: ['HS256'], issuer: ISSUER, currentDate: clock.now(), requiredClaims: ['sub', 'jti', 'exp', 'iat'] })
        if (payload.use !== 'access' || !isRole(payload.role) || typeof payload.cred !== 'number') fail('bad_credential', {})
        return { username: payload.sub ?? '', role: payload.role as Role, id: payload.jti ?? '', credentialsAt: payload.cred as number }
      } catch (cause) {
        return fail('bad_credential', {}, cause)
      }
    },
  }
}
