import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import Provider from 'oidc-provider'

export const CLIENT = { id: 'gatehouse', secret: 'a client secret of the tests, long enough' } as const

/** Somebody at the provider. */
export interface Person {
  readonly sub: string
  readonly [claim: string]: unknown
}

/** A real OpenID provider on 127.0.0.1. `person` logs in without a prompt. */
export interface TestProvider {
  readonly issuer: string
  /** The person at the browser; undefined refuses the login. */
  person: Person | undefined
  close(): Promise<void>
}

function listen(server: Server): Promise<number> {
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => {
    server.close(() => resolve())
  })
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
    readonly provider: {
      readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
    }
  }
}

/** @param redirectUri  of the one client @param authMethod  how it shows its secret; `none` is a public client */
export async function startProvider(
  redirectUri: string,
  authMethod: 'client_secret_basic' | 'client_secret_post' | 'none' = 'client_secret_basic',
): Promise<TestProvider> {
  let handle: (req: IncomingMessage, res: ServerResponse) => void = (_, res) => res.end()
  const server = createServer((req, res) => handle(req, res))
  const issuer = `http://127.0.0.1:${await listen(server)}`
  const it: { person: Person | undefined } = { person: undefined }
  const people = new Map<string, Person>()
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: authMethod,
        ...(authMethod === 'none' ? {} : { client_secret: CLIENT.secret }),
      },
    ],
    claims: {
      openid: ['sub'],
      profile: ['preferred_username', 'name'],
      email: ['email', 'email_verified'],
      groups: ['groups', 'realm'],
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    pkce: { required: () => true },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    interactions: { url: (_: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => people.get(sub) ?? { sub } }),
    loadExistingGrant: async (ctx: GrantContext) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      })
      grant.addOIDCScope('openid profile email groups')
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()
  const finish = (
    provider as unknown as {
      interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>
    }
  ).interactionFinished.bind(provider)
  handle = (req, res) => {
    if (req.url?.startsWith('/interaction/') !== true) return callback(req, res)
    if (it.person !== undefined) people.set(it.person.sub, it.person)
    void finish(
      req,
      res,
      it.person === undefined
        ? { error: 'access_denied', error_description: 'the person said no' }
        : { login: { accountId: it.person.sub } },
    )
  }
  return Object.assign(it, { issuer, close: () => close(server) })
}

/** A forged answer of the token endpoint. */
export type Forge = (tools: {
  readonly nonce: string
  readonly issuer: string
  /** An honest ID token, changed in what is given. */
  sign(
    claims: Readonly<Record<string, unknown>>,
    over?: { readonly alg?: string; readonly key?: CryptoKey | Uint8Array },
  ): Promise<string>
}) => Promise<Record<string, unknown>>

/** A provider that answers the token endpoint as a test wants it. */
export interface ForgedProvider {
  readonly issuer: string
  forge: Forge
  close(): Promise<void>
}

export async function startForgedProvider(): Promise<ForgedProvider> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const nonces = new Map<string, string>()
  let issuer = ''
  const it: { forge: Forge } = { forge: async () => ({}) }
  const json = (res: ServerResponse, value: unknown): void => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', issuer)
    if (url.pathname === '/.well-known/openid-configuration') {
      return json(res, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    }
    if (url.pathname === '/jwks') return json(res, { keys: [jwk] })
    if (url.pathname === '/authorize') {
      const code = randomBytes(8).toString('hex')
      nonces.set(code, url.searchParams.get('nonce') ?? '')
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '' }).toString()
      return res.writeHead(302, { location: back.href }).end()
    }
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const nonce = nonces.get(new URLSearchParams(Buffer.concat(chunks).toString()).get('code') ?? '') ?? ''
      const sign: Parameters<Forge>[0]['sign'] = (claims, { alg = 'RS256', key = privateKey } = {}) => {
        const now = Math.floor(Date.now() / 1000)
        return new SignJWT({
          iss: issuer,
          aud: CLIENT.id,
          sub: 'forged',
          iat: now,
          exp: now + 300,
          nonce,
          preferred_username: 'forged',
          groups: ['admins'],
          ...claims,
        })
          .setProtectedHeader({ alg, kid: 'one' })
          .sign(key)
      }
      void it
        .forge({ nonce, issuer, sign })
        .then(answer => json(res, { access_token: 'at', token_type: 'bearer', ...answer }))
    })
  })
  issuer = `http://127.0.0.1:${await listen(server)}`
  return Object.assign(it, {
    get issuer() {
      return issuer
    },
    close: () => close(server),
  })
}

/** A browser: keeps the cookies of each origin and stops where it is told. */
export interface Browser {
  readonly cookies: Map<string, Map<string, string>>
  /** One request; redirects are not followed. */
  get(url: string): Promise<{
    readonly status: number
    readonly location: string
    readonly setCookie: readonly string[]
    readonly text: string
  }>
  /** Follows redirects until an address that `isEnd` says; that one is not fetched. */
  follow(url: string, isEnd: (url: string) => boolean): Promise<string>
  cookieHeader(url: string): string
}

export function createBrowser(headers: () => Record<string, string> = () => ({})): Browser {
  const cookies: Browser['cookies'] = new Map()
  const cookieHeader = (url: string): string =>
    [...(cookies.get(new URL(url).origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ')
  const get: Browser['get'] = async url => {
    const response = await fetch(url, { redirect: 'manual', headers: { ...headers(), cookie: cookieHeader(url) } })
    const jar = cookies.get(new URL(url).origin) ?? new Map<string, string>()
    cookies.set(new URL(url).origin, jar)
    const setCookie = response.headers.getSetCookie()
    for (const line of setCookie) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0\b/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    const location = response.headers.get('location')
    return {
      status: response.status,
      location: location === null ? '' : new URL(location, url).href,
      setCookie,
      text: await response.text(),
    }
  }
  return {
    cookies,
    get,
    cookieHeader,
    follow: async (start, isEnd) => {
      let url = start
      for (let n = 0; n < 15; n++) {
        if (isEnd(url)) return url
        const { status, location, text } = await get(url)
        if (location === '') throw new Error(`${url} answered ${status} and leads nowhere: ${text.slice(0, 300)}`)
        url = location
      }
      throw new Error('the redirects do not end')
    },
  }
}

/** Settings that switch single sign-on with this provider on; its maintainers are maintainers here. */
export const signInWith = ({ issuer }: Pick<TestProvider, 'issuer'>) => ({
  enabled: true,
  label: 'Sign in with Nordwerk',
  issuer,
  client_id: CLIENT.id,
  client_secret: CLIENT.secret,
  scopes: 'openid profile email groups',
  group_maintainer: 'repo-maintainers',
  default_role: 'none',
})
