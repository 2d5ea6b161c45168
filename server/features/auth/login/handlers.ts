import type { Principal } from '../../../core/access.ts'
import type { Handlers } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import { fromOf } from '../../../core/request-origin.ts'
import type { Db } from '../../../db/db.ts'
import type { Clock } from '../../../lib/clock.ts'
import { findAccount } from '../accounts/store.ts'
import { userView } from '../accounts/view.ts'
import type { MfaPolicy } from '../mfa/policy.ts'
import { findTokenById } from '../tokens/store.ts'
import { tokenView } from '../tokens/view.ts'
import type { login as rows } from './contract.ts'
import type { Login } from './login.ts'
import { enteredView } from './views.ts'

export interface LoginHandlerDeps {
  readonly db: Db
  readonly login: Login
  readonly policy: MfaPolicy
  readonly clock: Clock
}

async function ownView({ db, clock, policy }: LoginHandlerDeps, who: Principal) {
  if (who.kind === 'user') {
    const account = (await findAccount(db, who.name)) ?? fail('bad_credential', {})
    const demand = policy.of(account)
    return {
      ...userView(account, clock.now()),
      ...(demand.kind === 'grace' ? { mfa_grace: { days_remaining: demand.daysRemaining } } : {}),
    }
  }
  const { name, role } = who
  const token = tokenView((await findTokenById(db, who.credential)) ?? fail('bad_credential', {}), clock.now())
  return {
    id: null,
    username: name,
    role,
    roles: [role],
    full_name: null,
    email: null,
    active: true,
    mfa_enabled: false,
    origin: 'local' as const,
    auth_source: 'local' as const,
    created_at: token.created_at,
    last_login: null,
    locked_until: null,
    scopes: token.scopes,
    expires_at: token.expires_at,
    expires_soon: token.expires_soon,
  }
}

export const loginHandlers: Handlers<typeof rows, LoginHandlerDeps> = {
  'POST /auth/token': async ({ login }, { body: { username, password }, raw }) =>
    enteredView(await login.login({ username, password, ...fromOf(raw) })),
  'GET /auth/me': (deps, { who }) => ownView(deps, who),
}
