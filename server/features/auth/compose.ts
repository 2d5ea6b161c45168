import { randomBytes } from 'node:crypto'
import { bind } from '../../core/contract.ts'
import type { Feature } from '../../core/feature.ts'
import type { Repositories } from '../../core/repository.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { ALONE, type Shared } from '../../lib/replica-memory.ts'
import type { SecretBox } from '../../lib/secret-box.ts'
import type { Audit } from '../../record/audit.ts'
import type { Settings } from '../../settings/store.ts'
import { createAccounts, type Accounts } from './accounts/accounts.ts'
import { createApiTokens, type ApiTokens } from './tokens/api-tokens.ts'
import { accounts as accountRows } from './accounts/contract.ts'
import { apiTokens as tokenRows } from './tokens/contract.ts'
import { login as loginRows } from './login/contract.ts'
import { createAuthenticate, type Authenticate } from './login/credentials.ts'
import type { Directory } from '../../directory/directory.ts'
import { createEntry } from './login/entry.ts'
import { accountHandlers } from './accounts/handlers.ts'
import { tokenHandlers } from './tokens/handlers.ts'
import { loginHandlers } from './login/handlers.ts'
import { createTokens } from './sessions/jwt.ts'
import { createLogin, type Login } from './login/login.ts'
import { mfa as mfaRows } from './mfa/contract.ts'
import { mfaHandlers } from './mfa/handlers.ts'
import { createMfaPolicy } from './mfa/policy.ts'
import { createMfa } from './mfa/mfa.ts'
import { createPasswordChange } from './accounts/password-change.ts'
import { createPasswordCheck } from './login/password-check.ts'
import { createReset, type ResetDeps } from './accounts/reset.ts'
import { createRevocations } from './sessions/revocations.ts'
import { createSecondStep } from './mfa/second-step.ts'
import { sessions as sessionRows } from './sessions/contract.ts'
import { sessionHandlers } from './sessions/handlers.ts'
import { createSessions, type Sessions } from './sessions/sessions.ts'
import { enteredView } from './login/views.ts'

export interface AuthNeeds {
  readonly db: Db
  readonly audit: Audit
  readonly outbox: Outbox
  readonly repositories: Pick<Repositories, 'get'>
  readonly settings: Pick<Settings, 'now'>
  readonly address: ResetDeps['address']
  readonly box: SecretBox
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** The memory that replicas share, so that a session ended at one is ended at all. */
  readonly shared?: Pick<Shared, 'tell' | 'hear'>
  readonly jwtSecret: string
  /** Lifetime of an access token. */
  readonly jwtMinutes: number
  readonly mail: ResetDeps['mail']
  /** Asked about people without a local account. */
  readonly directory?: Directory | undefined
}

/** Everything about signing in. */
export interface Auth extends Feature {
  readonly authenticate: Authenticate
  readonly login: Login
  readonly accounts: Accounts
  readonly apiTokens: ApiTokens
  readonly sessions: Sessions
  /** Signs in a person whom another place vouches for, and answers as a login does. */
  vouchedFor(...given: Parameters<Login['vouchedFor']>): Promise<ReturnType<typeof enteredView>>
}

/** Builds the topic from its parts. */
export function composeAuth(needs: AuthNeeds): Auth {
  const { db, audit, outbox, settings, clock, directory } = needs
  const parts = { ...needs, random: randomBytes }
  const tokens = createTokens({ secret: needs.jwtSecret, clock })
  const revocations = createRevocations({ db, clock, shared: needs.shared ?? ALONE })
  const sessions = createSessions({ db, tokens, revocations, clock, minutes: needs.jwtMinutes })
  const policy = createMfaPolicy({ db, settings, clock })
  const passwords = createPasswordCheck({ db, clock, directory })
  const entry = createEntry({ db, audit, outbox, tokens, sessions, policy, clock })
  const login = createLogin({ db, audit, outbox, passwords, entry, clock, directory })
  const accounts = createAccounts({ db, audit, outbox, clock })
  const apiTokens = createApiTokens({ db, audit, outbox, clock, repositories: needs.repositories })
  const reset = createReset(parts)
  const routes = [
    ...bind(loginRows, loginHandlers, { db, clock, login, policy }),
    ...bind(accountRows, accountHandlers, {
      db,
      clock,
      accounts,
      reset,
      changePassword: createPasswordChange({ db, audit, outbox, passwords }),
    }),
    ...bind(tokenRows, tokenHandlers, { apiTokens, clock }),
    ...bind(mfaRows, mfaHandlers, {
      accounts,
      policy,
      mfa: createMfa({ ...parts, passwords, entry }),
      secondStep: createSecondStep({ ...parts, tokens, passwords, entry }),
    }),
    ...bind(sessionRows, sessionHandlers, { db, audit, sessions, policy }),
  ]
  return {
    routes,
    debts: { reset: { deliver: reset.deliver } },
    authenticate: createAuthenticate({ db, tokens, sessions, clock }),
    login,
    accounts,
    apiTokens,
    sessions,
    vouchedFor: async (profile, coming) => enteredView(await login.vouchedFor(profile, coming)),
  }
}
