import { ROLE_CARDS, type Principal } from '../../../core/access.ts'
import type { Handlers, RawRequest } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { findRole, roleOf, type Accounts, type By } from './accounts.ts'
import type { ApiTokens } from '../tokens/api-tokens.ts'
import type { auth } from './contract.ts'
import type { Login } from '../login/login.ts'
import type { MfaPolicy } from '../mfa/policy.ts'
import type { ChangePassword } from './password-change.ts'
import type { PasswordReset } from './reset.ts'
import { findAccount, listAccounts } from './store.ts'
import { findTokenById } from '../tokens/store.ts'
import { enteredView, fromOf, scopesView, tokenView, userView } from '../login/views.ts'

export interface AuthDeps {
  readonly db: Db
  readonly login: Login
  readonly changePassword: ChangePassword
  readonly reset: PasswordReset
  readonly policy: MfaPolicy
  readonly accounts: Accounts
  readonly apiTokens: ApiTokens
  readonly clock: Clock
}

const by = ({ who, raw }: { readonly who: Principal; readonly raw: RawRequest }): By => ({ who, ip: raw.clientIp })

async function ownView({ db, clock, policy }: AuthDeps, who: Principal) {
  if (who.kind === 'user') {
    const account = (await findAccount(db, who.name)) ?? fail('bad_credential', {})
    const demand = policy.of(account)
    return {
      ...userView(account),
      ...(demand.kind === 'grace' ? { mfa_grace: { days_remaining: demand.daysRemaining } } : {}),
    }
  }
  const { name, role } = who
  const token = tokenView((await findTokenById(db, who.credential)) ?? fail('bad_credential', {}), clock.now())
  return {
    username: name,
    role,
    roles: [role],
    full_name: null,
    email: null,
    active: true,
    mfa_enabled: false,
    origin: 'local' as const,
    created_at: token.created_at,
    last_login: null,
    locked_until: null,
    scopes: token.scopes,
    expires_at: token.expires_at,
    expires_soon: token.expires_soon,
  }
}

export const authHandlers: Handlers<typeof auth, AuthDeps> = {
  'POST /auth/token': async ({ login }, { body: { username, password }, raw }) =>
    enteredView(await login.login({ username, password, ...fromOf(raw) })),
  'GET /auth/me': (deps, { who }) => ownView(deps, who),
  'POST /auth/change-password': async ({ changePassword }, { body, who, raw }) => {
    await changePassword(who, { current: body.current_password, next: body.new_password, ip: raw.clientIp })
    return { message: 'The password is changed. Other sessions have ended.' }
  },
  'POST /auth/forgot-password': async ({ reset }, { body: { email, username }, raw }) => {
    if (email === undefined && username === undefined) fail('missing_field', { field: 'email' })
    await reset.ask({ email, username, ip: raw.clientIp })
    return { message: 'If there is an account with a mail address, a link is on its way. It is good for 30 minutes.' }
  },
  'POST /auth/reset-password': async ({ reset }, { body: { token, new_password }, raw }) => {
    await reset.reset({ token, password: new_password, ip: raw.clientIp })
    return { message: 'The password is set. Every session has ended; log in with the new one.' }
  },
  'GET /auth/roles': () => ({ roles: ROLE_CARDS }),
  'GET /auth/users': async ({ db }) => ({ users: (await listAccounts(db)).map(userView) }),
  'POST /auth/users': async ({ accounts }, input) => {
    const { username, password, full_name, email } = input.body
    return userView(
      await accounts.create(
        { username, password, role: roleOf(input.body), fullName: full_name ?? undefined, email: email ?? undefined },
        by(input),
      ),
    )
  },
  'PATCH /auth/users/{username}': async ({ accounts }, input) => {
    const { full_name, email, active } = input.body
    return userView(
      await accounts.change(
        input.params.username,
        { role: findRole(input.body), fullName: full_name, email, active },
        by(input),
      ),
    )
  },
  'DELETE /auth/users/{username}': async ({ accounts }, input) => {
    await accounts.remove(input.params.username, by(input))
    return { message: `The user ${input.params.username} is deleted.` }
  },
  'POST /auth/users/{username}/reset-password': async ({ accounts }, input) => {
    await accounts.resetPassword(input.params.username, input.body.new_password, by(input))
    return { message: `The password of ${input.params.username} is set. Its sessions have ended.` }
  },
  'GET /auth/api-tokens': async ({ apiTokens, clock }) => ({
    tokens: (await apiTokens.list()).map(token => tokenView(token, clock.now())),
  }),
  'POST /auth/api-tokens': async ({ apiTokens }, input) => {
    const { name, expires_days, scopes } = input.body
    const scope = { distributions: scopes?.distributions ?? undefined, uploadOnly: scopes?.upload_only ?? false }
    const { token, row } = await apiTokens.create(
      { name, role: roleOf(input.body), expiresDays: expires_days ?? undefined, scope },
      by(input),
    )
    return {
      id: row.id,
      name: row.name,
      role: row.role,
      roles: [row.role],
      token,
      prefix: 'svc_',
      expires_at: row.expires_at?.toISOString() ?? null,
      scopes: scopesView(row),
      message: 'Copy the token now. It is stored as a hash and cannot be shown again.',
    }
  },
  'DELETE /auth/api-tokens/{token_id}': async ({ apiTokens }, input) => {
    const { name } = await apiTokens.revoke(input.params.token_id, by(input))
    return { message: `The API token ${name} is revoked.` }
  },
}
