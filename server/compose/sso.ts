import { bind, type BoundRoute } from '../core/contract.ts'
import type { LdapDirectory } from '../directory/ldap.ts'
import { createOidcProvider } from '../directory/oidc.ts'
import type { Env } from '../env.ts'
import type { Auth } from '../features/auth/auth.ts'
import { enteredView } from '../features/auth/views.ts'
import { sso } from '../features/sso/contract.ts'
import { ssoHandlers } from '../features/sso/handlers.ts'
import { createIdentities } from '../features/sso/identities.ts'
import { createOidcLogin } from '../features/sso/oidc-login.ts'
import { createSteps } from '../features/sso/steps.ts'
import type { Log } from '../lib/log.ts'
import type { GuardedFetch } from '../outbound/fetch.ts'
import type { Foundation } from './foundation.ts'

export interface SsoOptions {
  readonly auth: Pick<Auth, 'login'>
  readonly directory: LdapDirectory
  readonly fetch: GuardedFetch
  readonly log: Log
}

/** People whom other places vouch for: the routes of directory and single sign-on. */
export function composeSso(
  env: Pick<Env, 'production'>,
  base: Pick<Foundation, 'db' | 'box' | 'clock' | 'settings' | 'audit' | 'licensing'>,
  { auth, directory, fetch, log }: SsoOptions,
): BoundRoute[] {
  const { db, box, clock, settings, audit, licensing } = base
  const provider = createOidcProvider({ fetch, production: env.production, now: () => clock.now().getTime() })
  const oidc = createOidcLogin({
    settings,
    provider,
    audit,
    log,
    steps: createSteps({ db, box, clock }),
    identities: createIdentities({ db }),
    vouchedFor: async (profile, coming) => enteredView(await auth.login.vouchedFor(profile, coming)),
  })
  return bind(sso, ssoHandlers, {
    settings,
    directory,
    provider,
    oidc,
    isAllowed: () => licensing.allowed() !== 'nothing',
  })
}
