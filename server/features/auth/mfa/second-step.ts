import { fail } from '../../../core/errors.ts'
import type { From } from '../../../core/request-origin.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Outbox } from '../../../db/outbox.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import type { Audit } from '../../../record/audit.ts'
import type { Coming, Entry } from '../login/entry.ts'
import type { Claims, Tokens } from '../sessions/jwt.ts'
import { findFactor, takeStep } from './store.ts'
import type { PasswordCheck } from '../login/password-check.ts'
import { countRecoveryCodes, useRecoveryCode } from './recovery-codes.ts'
import { isSpent, spendOnce } from '../sessions/revocations.ts'
import type { AccessToken } from '../sessions/sessions.ts'
import { findAccount, type Account } from '../accounts/store.ts'
import { stepOfCode } from './totp.ts'

/** What is shown in the second step: six digits from the app, or one of the codes on paper. */
export type Proof = { readonly code: string } | { readonly recoveryCode: string }

export interface SecondStepDeps {
  readonly db: Db
  readonly audit: Pick<Audit, 'record'>
  readonly outbox: Pick<Outbox, 'nudge'>
  readonly box: SecretBox
  readonly tokens: Tokens
  readonly passwords: PasswordCheck
  readonly entry: Entry
  readonly clock: Clock
}

/**
 * Ends a login that waits for its second factor. A challenge works once and a code works once. A wrong code counts like
 * a wrong password and does not use up the challenge. @throws bad_challenge, bad_code
 */
export type SecondStep = (given: From & { readonly challenge: string; readonly proof: Proof }) => Promise<AccessToken>

/** The step of a login behind the password. */
export function createSecondStep({
  db,
  audit,
  outbox,
  box,
  tokens,
  passwords,
  entry,
  clock,
}: SecondStepDeps): SecondStep {
  async function read(challenge: string): Promise<{ readonly claims: Claims; readonly account: Account }> {
    const claims = await tokens
      .read(challenge, 'mfa_challenge')
      .catch((cause: unknown) => fail('bad_challenge', {}, cause))
    const account = (await findAccount(db, claims.username)) ?? fail('bad_challenge', {})
    // what ends sessions also ends this: a new password, a deactivation; and there must still be a second factor
    if (!account.active || !account.mfa_enabled || claims.credentialsAt !== account.credentials_at.getTime())
      fail('bad_challenge', {})
    if (await isSpent(db, claims.id)) fail('bad_challenge', {})
    return { claims, account }
  }

  /** Uses the code up. @returns undefined when it is wrong */
  async function take(tx: Tx, username: string, proof: Proof): Promise<Pick<Coming, 'how' | 'codesLeft'> | undefined> {
    if ('recoveryCode' in proof) {
      if (!(await useRecoveryCode(tx, username, proof.recoveryCode))) return undefined
      return { how: 'password_and_recovery_code', codesLeft: await countRecoveryCodes(tx, username) }
    }
    const sealed = (await findFactor(tx, username))?.mfa_secret
    if (sealed === undefined || sealed === null) return undefined
    const step = stepOfCode(box.open(sealed).toString('utf8'), proof.code, clock.now())
    return step !== undefined && (await takeStep(tx, username, step)) ? { how: 'password_and_code' } : undefined
  }

  return async ({ challenge, proof, ...from }) => {
    const { claims, account } = await read(challenge)
    const refused = new Error('the proof is refused, nothing is kept')
    const opened = await db
      .tx(async tx => {
        const shown = await take(tx, account.username, proof)
        if (shown === undefined) throw refused
        if (!(await spendOnce(tx, claims.id, claims.expiresAt))) fail('bad_challenge', {})
        // undefined: locked, or changed since it was read
        return (
          (await entry.admit(tx, account, { ...from, ...shown })) ??
          (() => {
            throw refused
          })()
        )
      })
      .catch((error: unknown) => {
        if (error === refused) return undefined
        throw error
      })
    outbox.nudge()
    if (opened !== undefined) return opened
    await passwords.countGuess(account.username)
    await audit.record({
      action: 'LOGIN',
      result: 'FAILURE',
      user: account.username,
      facts: { kind: 'refused', why: 'code' in proof ? 'wrong_code_or_locked' : 'wrong_recovery_code_or_locked' },
      ip: from.ip,
    })
    return fail('bad_code', {})
  }
}
