import type { AppAddress } from '../../core/app-address.ts'
import type { Handlers } from '../../core/contract.ts'
import { fromOf } from '../../core/request-origin.ts'
import type { LdapDirectory } from '../../directory/ldap.ts'
import type { OidcProvider } from '../../directory/oidc.ts'
import type { Settings } from '../../settings/store.ts'
import type { LoginReply, sso } from './contract.ts'
import { tryLdap } from './ldap-trial.ts'
import { redirectUriOf, type OidcLogin } from './oidc-login.ts'
import { waitingOf } from './waiting.ts'
import { tryOidc } from './oidc-trial.ts'

export interface SsoDeps {
  readonly settings: Pick<Settings, 'now'>
  readonly address: Pick<AppAddress, 'console'>
  readonly directory: Pick<LdapDirectory, 'tryOut'>
  readonly provider: Pick<OidcProvider, 'discover'>
  readonly oidc: OidcLogin<LoginReply>
  /** Whether this edition has single sign-on. */
  readonly isAllowed: () => boolean
}

const given = (query: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined))

export const ssoHandlers: Handlers<typeof sso, SsoDeps> = {
  'POST /settings/test-ldap': async ({ settings, directory }, { body }) => {
    const { person, ...trial } = await tryLdap(directory, settings.now().ldap, body)
    const found = person === undefined ? '' : ` ${person.username} is there, as ${person.role}.`
    return {
      ok: true,
      message: `${trial.server} is reached and took the bind. ${trial.connection}.${found}`,
      ...trial,
      ...(person === undefined ? {} : { person: { ...person, groups: [...person.groups] } }),
    }
  },
  'POST /settings/test-oidc': async ({ settings, address, provider }, { body, raw }) => {
    const card = await tryOidc(provider, settings.now().oidc, body)
    return {
      ok: true,
      message: `${card.issuer} answers.`,
      ...card,
      scopes_supported: [...card.scopes_supported],
      redirect_uri: redirectUriOf(address.console(raw)),
    }
  },
  'GET /auth/oidc': ({ settings, isAllowed }) => {
    const { enabled, label } = settings.now().oidc
    return { enabled: enabled && isAllowed(), label, login_url: '/api/v1/auth/oidc/login' }
  },
  'GET /auth/oidc/login': ({ oidc }, { query, raw }) =>
    oidc.start({ raw, again: query.again === true, waiting: waitingOf(query) }),
  'GET /auth/oidc/callback': ({ oidc }, { query, raw }) => oidc.callback({ raw, answer: given(query) }),
  'POST /auth/oidc/exchange': ({ oidc }, { body, raw }) => oidc.exchange({ raw, ...body, from: fromOf(raw) }),
}
