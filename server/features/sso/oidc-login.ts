import type { LoginWay } from '../../core/login-way.ts'
import type { AppAddress } from '../../core/app-address.ts'
import { Redirect, type RawRequest } from '../../core/contract.ts'
import { fail } from '../../core/errors.ts'
import type { From } from '../../core/request-origin.ts'
import type { DirectoryProfile } from '../../directory/directory.ts'
import { OidcFault, type OidcIdentity, type OidcProvider, type OidcTrip } from '../../directory/oidc.ts'
import type { Log } from '../../lib/log.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import type { Identities } from './identities.ts'
import { randomToken, type Steps } from './steps.ts'
import { backTo, challengeOf, programOf, type Waiting } from './waiting.ts'

/** The person whom the provider vouches for. */
export type Vouched = DirectoryProfile & { readonly origin: 'oidc' }

/** Login through a provider: out, back, and a session for the console. */
export interface OidcLogin<Reply> {
  /**
   * Sends the browser to the provider. `again` says that we sent it here; `waiting` is the program that it comes
   * back to in place of the console.
   * @throws sso_off
   */
  start(request: {
    readonly raw: RawRequest
    readonly again: boolean
    readonly waiting?: Waiting | undefined
  }): Promise<Redirect>
  /**
   * Takes the provider's answer and sends the browser to the console, with a code or with a word for the failure.
   * @throws sso_off
   */
  callback(request: { readonly raw: RawRequest; readonly answer: Readonly<Record<string, string>> }): Promise<Redirect>
  /**
   * Gives the console what a password would have given. The code works once, within a minute, in the same browser or
   * with the verifier of the program that waited.
   * @throws sso_expired, sso_refused, bad_password, account_inactive
   */
  exchange(request: {
    readonly raw: RawRequest
    readonly code: string
    readonly verifier?: string | undefined
    readonly from: From
  }): Promise<Reply>
}

export interface OidcLoginDeps<Reply> {
  readonly settings: Pick<Settings, 'now'>
  readonly address: Pick<AppAddress, 'console'>
  readonly provider: OidcProvider
  readonly steps: Steps
  readonly identities: Identities
  readonly audit: Pick<Audit, 'record'>
  readonly log: Pick<Log, 'warn'>
  /** Makes or updates the account, and returns what a password login would. */
  readonly vouchedFor: (profile: Vouched, coming: From & { readonly how: LoginWay }) => Promise<Reply>
}

/** What is remembered while the browser is at the provider. */
type Trip = OidcTrip & { readonly waiting?: Waiting | undefined }
/** Where a login ends. */
interface Place {
  readonly appUrl: string
  readonly waiting: Waiting | undefined
}
const againQuery = (waiting: Waiting | undefined): string =>
  new URLSearchParams({
    again: '1',
    ...(waiting === undefined ? {} : { ...waiting, port: String(waiting.port) }),
  }).toString()

const TRIP_S = 600
const ARRIVAL_S = 60

/** Where the provider sends people back; it is registered there. */
export function redirectUriOf(appUrl: string): string {
  return `${appUrl}/api/v1/auth/oidc/callback`
}

/** `__Host-` keeps other names of the same domain from setting one (RFC 6265bis, 4.1.3.2); it needs HTTPS. */
const cookieName = (appUrl: string): string => (appUrl.startsWith('https:') ? '__Host-gatehouse_sso' : 'gatehouse_sso')

// Lax: the browser must send it when the provider redirects back
function cookieOf(appUrl: string, value: string, seconds: number): string {
  return `${cookieName(appUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${appUrl.startsWith('https:') ? '; Secure' : ''}`
}

function readCookie(appUrl: string, header: string | undefined): string {
  const [, value = ''] =
    (header ?? '')
      .split(';')
      .map(pair => pair.trim().split('=', 2))
      .find(([name]) => name === cookieName(appUrl)) ?? []
  return /^[\w-]{43}$/.test(value) ? value : ''
}

export function createOidcLogin<Reply>({
  settings,
  address,
  provider,
  steps,
  identities,
  audit,
  log,
  vouchedFor,
}: OidcLoginDeps<Reply>): OidcLogin<Reply> {
  const current = (raw: RawRequest) => {
    const { oidc } = settings.now()
    const appUrl = address.console(raw)
    return oidc.enabled && URL.canParse(appUrl) ? { oidc, appUrl } : fail('sso_off', {})
  }
  /** The fragment of a URL reaches only the console: no server, no log, no other site. */
  const toConsole = (appUrl: string, query: Record<string, string>, cookies: readonly string[] = []): Redirect =>
    new Redirect(`${appUrl}/#/login?${new URLSearchParams(query).toString()}`, cookies)

  const back = (
    { appUrl, waiting }: Place,
    query: Record<string, string>,
    cookies: readonly string[] = [],
  ): Redirect =>
    waiting === undefined ? toConsole(appUrl, query, cookies) : new Redirect(backTo(waiting, query), cookies)

  async function refuse(
    place: Place,
    word: string,
    { why, ip }: { readonly why: string; readonly ip: string },
  ): Promise<Redirect> {
    await audit.record({ action: 'LOGIN', result: 'FAILURE', user: 'oidc', facts: { kind: 'sso.refused', word }, ip })
    log.warn({ word, why }, 'single sign-on did not succeed')
    return back(place, { sso_error: word }, [cookieOf(place.appUrl, '', 0)])
  }

  async function enter(person: OidcIdentity, from: From): Promise<Reply> {
    const { role, fullName, email } = person
    const claimed = (await identities.claim(person)) ?? fail('sso_refused', {})
    const { oidc } = settings.now()
    try {
      return await vouchedFor(
        {
          username: claimed.username,
          role,
          provision: oidc.auto_provision,
          origin: 'oidc',
          ...(fullName === undefined ? {} : { fullName }),
          ...(email === undefined ? {} : { email }),
        },
        { ...from, how: 'single_sign_on' },
      )
    } catch (error) {
      if (claimed.isNew) await identities.release(person)
      throw error
    }
  }

  return {
    start: async ({ raw, again, waiting }) => {
      const { oidc, appUrl } = current(raw)
      // the cookie has to be set for the name that the provider sends people back to
      if (!again && settings.now().app_url !== '' && raw.headers.host !== new URL(appUrl).host)
        return new Redirect(`${appUrl}/api/v1/auth/oidc/login?${againQuery(waiting)}`)
      try {
        const { url, trip } = await provider.begin(oidc, redirectUriOf(appUrl))
        const browser = randomToken()
        await steps.keep('trip', {
          token: trip.state,
          browser,
          value: { ...trip, waiting } satisfies Trip,
          seconds: TRIP_S,
        })
        return new Redirect(url, [cookieOf(appUrl, browser, TRIP_S + ARRIVAL_S)])
      } catch (error) {
        if (!(error instanceof OidcFault)) throw error
        log.warn({ word: error.word, why: error.why }, 'single sign-on did not begin')
        return back({ appUrl, waiting }, { sso_error: error.word })
      }
    },
    callback: async ({ raw, answer }) => {
      const { oidc, appUrl } = current(raw)
      const ip = raw.clientIp
      const browser = readCookie(appUrl, raw.headers.cookie)
      const trip = (await steps.take('trip', answer.state ?? '', browser)) as Trip | undefined
      if (trip === undefined)
        return refuse({ appUrl, waiting: undefined }, 'expired', {
          why: 'no login with this state is under way in this browser',
          ip,
        })
      try {
        const person = await provider.finish(oidc, trip, answer)
        const code = randomToken()
        const holder = trip.waiting === undefined ? browser : programOf(trip.waiting.challenge)
        await steps.keep('arrival', { token: code, browser: holder, value: person, seconds: ARRIVAL_S })
        return back({ appUrl, waiting: trip.waiting }, { sso: code })
      } catch (error) {
        if (error instanceof OidcFault)
          return refuse({ appUrl, waiting: trip.waiting }, error.word, { why: error.why, ip })
        throw error
      }
    },
    exchange: async ({ raw, code, verifier, from }) => {
      const { appUrl } = current(raw)
      const holder = verifier === undefined ? readCookie(appUrl, raw.headers.cookie) : programOf(challengeOf(verifier))
      const person = (await steps.take('arrival', code, holder)) as OidcIdentity | undefined
      return person === undefined ? fail('sso_expired', {}) : enter(person, from)
    },
  }
}
