import type { Handlers, RawRequest } from '../../../core/contract.ts'
import { fail } from '../../../core/errors.ts'
import { fromOf } from '../../../core/request-origin.ts'
import type { Accounts } from '../accounts/accounts.ts'
import { accessView } from '../login/views.ts'
import type { mfa } from './contract.ts'
import type { MfaPolicy } from './policy.ts'
import type { Mfa } from './mfa.ts'
import type { Proof, SecondStep } from './second-step.ts'

export interface MfaHandlerDeps {
  readonly mfa: Mfa
  readonly secondStep: SecondStep
  readonly policy: MfaPolicy
  readonly accounts: Pick<Accounts, 'resetMfa'>
}

/** @throws missing_code unless it is exactly one of the two */
function proofOf({
  totp_code: code,
  recovery_code: recoveryCode,
}: {
  readonly totp_code?: string
  readonly recovery_code?: string
}): Proof {
  if (code !== undefined && recoveryCode === undefined) return { code }
  if (recoveryCode !== undefined && code === undefined) return { recoveryCode }
  return fail('missing_code', { field: 'totp_code' })
}

const withPassword = ({ body, raw }: { readonly body: { readonly password: string }; readonly raw: RawRequest }) => ({
  ...fromOf(raw),
  password: body.password,
})

export const mfaHandlers: Handlers<typeof mfa, MfaHandlerDeps> = {
  'POST /auth/mfa/setup': async (deps, { who }) => {
    const { secret, uri, qrCode } = await deps.mfa.setup(who)
    return { secret, uri, qr_code_base64: qrCode.toString('base64') }
  },
  'POST /auth/mfa/confirm': async (deps, { body, who, raw }) => {
    const { codes, session } = await deps.mfa.confirm(who, { ...fromOf(raw), code: body.totp_code })
    return {
      message:
        'The second factor is active. Keep the recovery codes where you find them without your phone; they are not shown again.',
      recovery_codes: [...codes],
      ...(session === undefined ? {} : accessView(session)),
    }
  },
  'POST /auth/mfa/authenticate': async ({ secondStep }, { body, raw }) =>
    accessView(await secondStep({ ...fromOf(raw), challenge: body.mfa_token, proof: proofOf(body) })),
  'POST /auth/mfa/disable': async (deps, input) => {
    await deps.mfa.disable(input.who, withPassword(input))
    return { message: 'The second factor is switched off, and its recovery codes work no more.' }
  },
  'POST /auth/mfa/recovery-codes': async (deps, input) => ({
    recovery_codes: [...(await deps.mfa.renewCodes(input.who, withPassword(input)))],
    message: 'These replace all older recovery codes. They are not shown again.',
  }),
  'GET /auth/mfa/recovery-codes/count': async (deps, { who }) => ({
    remaining: (await deps.mfa.status(who)).codesLeft,
  }),
  'GET /auth/mfa/status': async (deps, { who }) => {
    const { enabled, pending, codesLeft } = await deps.mfa.status(who)
    return {
      enabled,
      pending,
      recovery_codes_remaining: codesLeft,
      required: who.kind === 'user' && deps.policy.demands(who),
    }
  },
  'DELETE /auth/users/{username}/mfa': async ({ accounts }, { params, who, raw }) => {
    await accounts.resetMfa(params.username, { who, ip: raw.clientIp })
    return {
      message: `The second factor of ${params.username} is removed. The password alone is enough until a new one is set up.`,
    }
  },
}
