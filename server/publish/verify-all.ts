import type { ChainReport } from '../record/audit-chain.ts'
import { readChain } from '../record/audit-integrity.ts'
import { createVerifier, type Verified, type VerifierDeps } from './audit-trees.ts'

/** What a verification found, with the audit log. */
export type VerifiedAll = Verified & { readonly auditLines: number }

/** Adds what was found of the audit log; that retention removed a part of it is a note. */
const withAudit = (
  { differences, notes, ...verified }: Verified,
  { broken, lines, cut }: ChainReport,
): VerifiedAll => ({
  ...verified,
  auditLines: lines,
  differences: [
    ...differences,
    ...broken.map(({ file, line, why }) => ({ what: 'audit', where: `${file}, line ${line}`, why })),
  ],
  notes:
    cut === undefined
      ? notes
      : [
          ...notes,
          {
            what: 'audit',
            where: `up to ${cut.last_day}`,
            why: `${cut.lines} lines were removed at ${cut.at} by ${cut.by}, after ${cut.days} days as the settings say${cut.broken === 0 ? '' : `; they were broken in ${cut.broken} places, which was accepted`}`,
          },
        ],
})

/**
 * Compares pool, documents, database, trees and the audit log with one another, also while a service runs on them.
 * Changes nothing. @throws the reason of `signal`, and the errors of disk and database
 */
export async function verifyAll(deps: VerifierDeps, signal?: AbortSignal): Promise<VerifiedAll> {
  const verified = await createVerifier(deps)()
  return withAudit(verified, await readChain({ db: deps.db, folder: deps.layout.audit }, signal))
}
