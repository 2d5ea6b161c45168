import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'

const Person = Type.Object({
  dn: Type.String(),
  username: Type.String(),
  full_name: Type.String(),
  email: Type.String(),
  groups: Type.Array(Type.String()),
  role: Type.String({ description: 'The role they would get.' }),
})
const Short = Type.Optional(Type.String({ maxLength: 4_000 }))
const SSO = { edition: 'Single sign-on', access: 'public', limit: { bucket: 'sso', perMinute: 30 } } as const

/** People whose passwords are kept elsewhere: a directory, and single sign-on. */
export const sso = contract({
  'POST /settings/test-ldap': {
    summary:
      'Tests the LDAP directory: connects and binds with the saved settings, overridden by those of the body. Saves nothing.',
    access: 'admin',
    edition: 'The directory login',
    limit: { bucket: 'settings-test', perMinute: 30 },
    // checked as settings are, so that a fault names its dotted key; test_username is somebody to look up, without a
    // password
    body: Type.Record(Type.String(), Type.Unknown()),
    reply: Type.Object({
      ok: Type.Literal(true),
      message: Type.String(),
      server: Type.String(),
      connection: Type.String(),
      bound_as: Type.String(),
      person: Type.Optional(Person),
    }),
    fails: ['ldap_failed', 'unknown_setting', 'bad_setting'],
  },
  'POST /settings/test-oidc': {
    summary:
      'Tests the OpenID provider: fetches its metadata with the saved settings, overridden by those of the body. Saves nothing.',
    access: 'admin',
    edition: 'Single sign-on',
    limit: { bucket: 'settings-test', perMinute: 30 },
    body: Type.Record(Type.String(), Type.Unknown()),
    reply: Type.Object({
      ok: Type.Literal(true),
      message: Type.String(),
      issuer: Type.String(),
      authorization_endpoint: Type.String(),
      token_endpoint: Type.String(),
      pkce: Type.Boolean(),
      scopes_supported: Type.Array(Type.String()),
      redirect_uri: Type.String({ description: 'To be registered at the provider.' }),
    }),
    fails: ['oidc_failed', 'unknown_setting', 'bad_setting'],
  },
  'GET /auth/oidc': {
    summary: 'Shows whether the login page offers single sign-on, and the label of its button.',
    access: 'public',
    reply: Type.Object({ enabled: Type.Boolean(), label: Type.String(), login_url: Type.String() }),
  },
  'GET /auth/oidc/login': {
    ...SSO,
    summary: 'Starts single sign-on: redirects the browser to the provider.',
    reply: 'redirect',
    fails: ['sso_off'],
    query: Type.Object({
      again: Type.Optional(Type.Boolean({ description: 'The request came to the host of app_url.' })),
      port: Type.Optional(
        Type.Integer({
          minimum: 1024,
          maximum: 65_535,
          description: 'Of a program that waits on 127.0.0.1 (RFC 8252); with challenge and state.',
        }),
      ),
      challenge: Type.Optional(
        Type.String({
          pattern: '^[\\w-]{43}$',
          rule: '43 characters of base64url',
          description: 'SHA-256 of what the program exchanges the code with (RFC 7636).',
        }),
      ),
      state: Type.Optional(
        Type.String({
          pattern: '^[\\w-]{43}$',
          rule: '43 characters of base64url',
          description: 'Comes back to the program as it is.',
        }),
      ),
    }),
  },
  'GET /auth/oidc/callback': {
    ...SSO,
    summary:
      'Receives the browser back from the provider and redirects it to the console, or to a program that waits, with a one-time code or sso_error.',
    reply: 'redirect',
    fails: ['sso_off'],
    // RFC 6749, 4.1.2: unrecognised parameters of the provider are ignored
    query: Type.Object(
      { code: Short, state: Short, iss: Short, session_state: Short, error: Short, error_description: Short },
      { additionalProperties: true },
    ),
  },
  'POST /auth/oidc/exchange': {
    ...SSO,
    summary: 'Finishes single sign-on: exchanges the one-time code for what POST /auth/token answers.',
    body: Type.Object({
      code: Type.String({ minLength: 1, maxLength: 200 }),
      verifier: Type.Optional(
        Type.String({
          pattern: '^[\\w-]{43}$',
          rule: '43 characters of base64url',
          description: 'Of a program, in place of the cookie of a browser.',
        }),
      ),
    }),
    reply: Type.Union([
      Type.Object({ access_token: Type.String(), token_type: Type.Literal('bearer'), expires_in: Type.Integer() }),
      Type.Object({ mfa_required: Type.Literal(true), mfa_token: Type.String(), expires_in: Type.Integer() }),
      Type.Object({
        mfa_setup_required: Type.Literal(true),
        mfa_setup_token: Type.String(),
        expires_in: Type.Integer(),
      }),
    ]),
    fails: ['sso_off', 'sso_expired', 'sso_refused', 'bad_password', 'account_inactive'],
  },
})

/** What a finished or half finished login answers; the same as `POST /auth/token`. */
export type LoginReply =
  | { readonly access_token: string; readonly token_type: 'bearer'; readonly expires_in: number }
  | { readonly mfa_required: true; readonly mfa_token: string; readonly expires_in: number }
  | { readonly mfa_setup_required: true; readonly mfa_setup_token: string; readonly expires_in: number }
