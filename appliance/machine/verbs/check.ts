import type { Ports } from '../ports.ts'
import { unknown, type Finding, type Look } from '../check/finding.ts'
import {
  lookAtAppArmor,
  lookAtFirewall,
  lookAtHardening,
  lookAtJournal,
  lookAtSsh,
  lookAtUnits,
} from '../check/guards.ts'
import { lookAtFiles, lookAtPasswords, lookAtRights } from '../check/laid.ts'
import { lookAtReleases } from '../check/releases.ts'
import {
  lookAtCertificate,
  lookAtClock,
  lookAtDisks,
  lookAtRemoteLog,
  lookAtServices,
  lookAtSignatures,
  lookAtUpdates,
} from '../check/state.ts'

/** Everything that is looked at, by the word that stands beside what is found. */
export const LOOKS: readonly (readonly [what: string, look: Look])[] = [
  ['Files', lookAtFiles],
  ['Rights', lookAtRights],
  ['Passwords', lookAtPasswords],
  ['Releases', lookAtReleases],
  ['Units', lookAtUnits],
  ['Services', lookAtServices],
  ['Hardening', lookAtHardening],
  ['AppArmor', lookAtAppArmor],
  ['Firewall', lookAtFirewall],
  ['SSH', lookAtSsh],
  ['Certificate', lookAtCertificate],
  ['Clock', lookAtClock],
  ['Disk', lookAtDisks],
  ['Logs', lookAtJournal],
  ['Remote log', lookAtRemoteLog],
  ['Signatures', lookAtSignatures],
  ['Updates of Debian', lookAtUpdates],
]
const RANK = { bad: 0, warning: 1, unknown: 2, good: 3 } as const

/** What is not as it should be, the worst first. What fails to look is said as unknown. */
export async function checkMachine(ports: Ports): Promise<Finding[]> {
  const found = await Promise.all(
    LOOKS.map(async ([what, look]) => {
      try {
        return await look(ports)
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        return [unknown(what, `It could not be looked at: ${why}`, 'journalctl -u gatehouse-machine says more.')]
      }
    }),
  )
  return found.flat().sort((a, b) => RANK[a.mark] - RANK[b.mark])
}

const KEPT_MS = 600_000
const kept = new WeakMap<Ports, { readonly at: number; readonly findings: Promise<Finding[]> }>()

/** The same, at most ten minutes old: the console asks often, and looking takes seconds. */
export function findingsOf(ports: Ports): Promise<Finding[]> {
  const now = ports.upSeconds() * 1000
  const last = kept.get(ports)
  if (last !== undefined && now - last.at < KEPT_MS) return last.findings
  const findings = checkMachine(ports)
  kept.set(ports, { at: now, findings })
  return findings
}

/** Looked at anew, at the next question. */
export const forgetFindings = (ports: Ports): void => void kept.delete(ports)
