import * as client from 'openid-client'
import { isIP } from 'node:net'
import { USERNAME, type Role } from '../core/access.ts'
import { isRefusal } from '../core/errors.ts'
import type { GuardedFetch } from '../outbound/fetch.ts'
import type { SettingsValue } from '../settings/schema.ts'
import { roleOfGroups } from './groups.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'

export type OidcSettings = SettingsValue['oidc']

/** A person as the provider vouches for them. */
export interface OidcIdentity {
  readonly issuer: string
  /** Never changes and never passes to another person; the name may. */
  readonly subject: string
  readonly username: string
  readonly role: Role
  readonly fullName?: string
  readonly email?: string
}

/** What to remember between leaving for the provider and coming back. */
export interface OidcTrip {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly redirectUri: string
}

export interface OidcCard {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  /** Whether the provider announces PKCE; it is used in any case. */
  readonly pkce: boolean
  readonly scopes_supported: readonly string[]
}

/** Why a login failed: a word for the console, a sentence for the log. Neither holds a secret. */
export class OidcFault extends Error {
  readonly word: 'unavailable' | 'denied' | 'refused' | 'no_username' | 'no_role'
  readonly why: string
  constructor(word: OidcFault['word'], why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause })
    this.name = 'OidcFault'
    this.word = word
    this.why = why
  }
}

/** OpenID Connect, authorization code with PKCE. Source: OpenID Connect Core 1.0, 3.1; RFC 7636; RFC 9700. */
export interface OidcProvider {
  /** Where to send the browser. @throws OidcFault `unavailable` */
  begin(settings: OidcSettings, redirectUri: string): Promise<{ readonly url: string; readonly trip: OidcTrip }>
  /** Exchanges the code and checks the ID token: signature, issuer, audience, time, nonce. @throws OidcFault */
  finish(settings: OidcSettings, trip: OidcTrip, answer: Readonly<Record<string, string>>): Promise<OidcIdentity>
  /** Asks the provider for its metadata now. @throws OidcFault `unavailable` */
  discover(settings: OidcSettings): Promise<OidcCard>
}

export interface OidcDeps {
  readonly fetch: GuardedFetch
  /** Production accepts only HTTPS. */
  readonly production: boolean
  readonly now: () => number
}

const FRESH_MS = 60 * 60_000
const LIMIT_BYTES = 1024 * 1024

/**
 * Sends every request of the library through the guard. The issuer that an admin named may lie in a private network;
 * what it points at may not.
 */
function guarded(fetch: GuardedFetch, issuer: string): client.CustomFetch {
  const { hostname } = new URL(issuer)
  return async (url, { method, headers, body, signal }) => {
    const text = body === undefined || body === null ? undefined : body instanceof Uint8Array ? body : String(body)
    const answer = await fetch(url, {
      method: method as 'GET' | 'POST',
      headers,
      redirects: 0,
      limitBytes: LIMIT_BYTES,
      timeoutMs: 10_000,
      allow: isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : '',
      ...(text === undefined ? {} : { body: text }),
      ...(signal === undefined ? {} : { signal }),
    })
    const flat = Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(', ')] as [string, string]],
    )
    return new Response([204, 205, 304].includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: flat,
    })
  }
}

/** The client secret in a way that the provider accepts. Without one this is a public client, and PKCE protects it. */
function authentication(secret: string): client.ClientAuth {
  if (secret === '') return client.None()
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...rest) =>
    ((server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true) ? basic : post)(
      server,
      ...rest,
    )
}

function causeOf(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (isRefusal(at)) return at.message
  const words = systemErrorInWords(error)
  if (words !== undefined) return words
  const { message, cause, error: code } = error as Error & { error?: unknown }
  const behind = cause instanceof Error && cause.message !== message ? `: ${cause.message}` : ''
  return `${message}${behind}${typeof code === 'string' ? ` (${code})` : ''}`.slice(0, 300)
}

/** `realm_access.roles` and the like: a path through the claims. A claim whose own name has the dots comes first. */
function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (path === '' || Object.hasOwn(claims, path)) return claims[path]
  return path
    .split('.')
    .reduce<unknown>(
      (at, key) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, key)
          ? (at as Record<string, unknown>)[key]
          : undefined,
      claims,
    )
}

const textsOf = (value: unknown): string[] => [value].flat().filter(one => typeof one === 'string')

function identityOf(
  settings: OidcSettings,
  claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string },
): OidcIdentity {
  const [username = ''] = textsOf(claimAt(claims, settings.username_claim))
  if (!USERNAME.test(username))
    throw new OidcFault('no_username', `the claim ${settings.username_claim} is missing or cannot be a user name`)
  const role =
    roleOfGroups(textsOf(claimAt(claims, settings.role_claim)), settings, (has, wants) => has === wants) ??
    (settings.default_role === 'none' ? undefined : settings.default_role)
  if (role === undefined)
    throw new OidcFault('no_role', `the claim ${settings.role_claim} names no group that has a role here`)
  const [fullName] = textsOf(claims.name)
  const [email] = claims.email_verified === false ? [] : textsOf(claims.email)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    username,
    role,
    ...(fullName === undefined ? {} : { fullName: fullName.slice(0, 200) }),
    ...(email === undefined || !/^[^\s@]+@[^\s@]{1,300}$/.test(email) ? {} : { email }),
  }
}

/** The provider that the settings name. Its metadata are read once an hour, and again when the settings change. */
export function createOidcProvider({ fetch, production, now }: OidcDeps): OidcProvider {
  const known = new Map<string, { readonly at: number; readonly configuration: Promise<client.Configuration> }>()

  async function ask({ issuer, client_id: id, client_secret: secret }: OidcSettings): Promise<client.Configuration> {
    const url = URL.canParse(issuer) ? new URL(issuer) : undefined
    if (url === undefined || id === '')
      throw new OidcFault('unavailable', url === undefined ? 'oidc.issuer is no URL' : 'oidc.client_id is empty')
    if (url.protocol === 'http:' && production)
      throw new OidcFault('unavailable', 'oidc.issuer has to begin with https://')
    try {
      return await client.discovery(url, id, {}, authentication(secret), {
        [client.customFetch]: guarded(fetch, issuer),
        execute: [client.enableNonRepudiationChecks, ...(production ? [] : [client.allowInsecureRequests])],
      })
    } catch (error) {
      throw new OidcFault('unavailable', causeOf(error), error)
    }
  }

  /** Read once an hour, and at once when the settings changed. A failure is not kept. */
  function configurationOf(settings: OidcSettings): Promise<client.Configuration> {
    const key = JSON.stringify([settings.issuer, settings.client_id, settings.client_secret])
    const kept = known.get(key)
    if (kept !== undefined && now() - kept.at < FRESH_MS) return kept.configuration
    const configuration = ask(settings)
    known.clear()
    known.set(key, { at: now(), configuration })
    configuration.catch(() => known.delete(key))
    return configuration
  }

  async function claimsOf(
    configuration: client.Configuration,
    settings: OidcSettings,
    tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>,
  ) {
    const claims = tokens.claims()
    if (claims === undefined) throw new OidcFault('refused', 'there is no ID token')
    const isWhole = [settings.username_claim, settings.role_claim].every(
      path => path === '' || claimAt(claims, path) !== undefined,
    )
    if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    // the ID token wins: it was signed for this login
    return { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims }
  }

  return {
    begin: async (settings, redirectUri) => {
      const configuration = await configurationOf(settings)
      const trip = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        redirectUri,
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: settings.scopes,
        state: trip.state,
        nonce: trip.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(trip.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, trip }
    },
    finish: async (settings, { state, nonce, verifier, redirectUri }, answer) => {
      if (answer.error !== undefined)
        throw new OidcFault('denied', `the provider says ${answer.error.replace(/[^\w.-]/g, '?').slice(0, 80)}`)
      const configuration = await configurationOf(settings)
      const url = new URL(redirectUri)
      url.search = new URLSearchParams(answer).toString()
      try {
        const tokens = await client.authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        return identityOf(settings, await claimsOf(configuration, settings, tokens))
      } catch (error) {
        if (error instanceof OidcFault) throw error
        throw new OidcFault('refused', causeOf(error), error)
      }
    },
    discover: async settings => {
      const metadata = (await ask(settings)).serverMetadata()
      const { issuer, authorization_endpoint: authorization = '', token_endpoint: token = '' } = metadata
      if (authorization === '' || token === '')
        throw new OidcFault('unavailable', 'the provider names no authorization or token endpoint')
      return {
        issuer,
        authorization_endpoint: authorization,
        token_endpoint: token,
        pkce: metadata.supportsPKCE(),
        scopes_supported: metadata.scopes_supported ?? [],
      }
    },
  }
}
