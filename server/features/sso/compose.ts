import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Db } from '../../db/db.ts'
import type { LdapDirectory } from '../../directory/ldap.ts'
import { createOidcProvider } from '../../directory/oidc.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { GuardedFetch } from '../../outbound/fetch.ts'
import { sso, type LoginReply } from './contract.ts'
import { ssoHandlers } from './handlers.ts'
import { createIdentities } from './identities.ts'
import { createOidcLogin, type OidcLoginDeps } from './oidc-login.ts'
import { createSteps } from './steps.ts'

export interface SsoNeeds extends Pick<
  OidcLoginDeps<LoginReply>,
  'settings' | 'address' | 'audit' | 'log' | 'vouchedFor'
> {
  readonly db: Db
  readonly box: SecretBox
  readonly clock: Clock
  readonly fetch: GuardedFetch
  readonly production: boolean
  readonly directory: Pick<LdapDirectory, 'tryOut'>
  /** Whether the edition and its licence have single sign-on now. */
  readonly isAllowed: () => boolean
}

/** People whom other places vouch for: the routes of directory and single sign-on. */
export function composeSso(needs: SsoNeeds): Feature {
  const { db, box, clock, settings, address, fetch, production, directory, isAllowed, audit, log, vouchedFor } = needs
  const provider = createOidcProvider({ fetch, production, now: () => clock.now().getTime() })
  const oidc = createOidcLogin({
    settings,
    address,
    provider,
    audit,
    log,
    steps: createSteps({ db, box, clock }),
    identities: createIdentities({ db }),
    vouchedFor,
  })
  return { routes: bind(sso, ssoHandlers, { settings, address, directory, provider, oidc, isAllowed }) }
}
