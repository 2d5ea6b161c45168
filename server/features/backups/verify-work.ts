import type { WorkKind } from '../../core/work.ts'
import type { Verified, VerifierDeps } from '../../publish/audit-trees.ts'
import { verifyAll } from '../../publish/verify-all.ts'

export const VERIFY = 'verify'
/** So many differences are named in the log of the job; `npm run verify` names all. */
const NAMED = 100

export interface VerifyResult extends Pick<Verified, 'checked'> {
  readonly audit_lines: number
  readonly differences: number
}

/** Compares pool, documents, database, trees and the audit log with one another, as `npm run verify` does. */
export const verifyWork = (deps: VerifierDeps): WorkKind<unknown, never, VerifyResult> => ({
  kind: VERIFY,
  name: 'Compare pool, documents, database, trees and audit log',
  see: 'admin',
  cancel: 'admin',
  run: async run => {
    const { checked, differences, auditLines } = await verifyAll(deps, run.signal)
    const all = differences.map(({ what, where, why }) => `${what}: ${where}: ${why}`)
    await run.step({
      say: [
        ...all.slice(0, NAMED).map(message => ({ level: 'error' as const, message })),
        all.length === 0
          ? { level: 'info', message: 'No difference.' }
          : { level: 'warning', message: `${all.length} differences. npm run verify names all of them.` },
      ],
    })
    return { checked, audit_lines: auditLines, differences: all.length }
  },
})
