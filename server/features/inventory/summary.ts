import { SEVERITIES } from '../../core/findings.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { checksOf, noFindings, type CheckDeps, type ClientRow } from '../../inventory/client-row.ts'
import { countChecks } from '../../inventory/compliance.ts'
import { listClients } from './clients.ts'

const DAY_MS = 86_400_000
/** Where no rule says after how many days a machine counts as not seen. */
const NOT_SEEN_DAYS = 7

function tally(words: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
}

/** How a machine stands by all rules together: one that is broken outweighs one that nobody can tell of. */
export function standingOf(row: ClientRow, deps: CheckDeps): 'pass' | 'fail' | 'unknown' {
  const { fail, unknown } = countChecks(checksOf(row, deps))
  return fail > 0 ? 'fail' : unknown > 0 ? 'unknown' : 'pass'
}

/** Counts over all machines that the viewer may see. */
export async function sumUp(db: Queryable, viewer: Viewer, deps: CheckDeps) {
  const { rows } = await listClients(db, viewer, { filter: {} })
  const changed = await listClients(db, viewer, { filter: { status: 'key_changed' } })
  const days = deps.rules.seen_within_days ?? NOT_SEEN_DAYS
  const since = deps.now.getTime() - days * DAY_MS
  const count = (is: (row: ClientRow) => boolean): number => rows.filter(is).length
  const standings = rows.map(row => standingOf(row, deps))
  const [findings, withFindings] = [noFindings(), noFindings()]
  for (const row of rows)
    for (const severity of SEVERITIES) {
      findings[severity] += row.findings?.[severity] ?? 0
      if ((row.findings?.[severity] ?? 0) > 0) withFindings[severity]++
    }
  const seen = rows.map(row => row.last_seen?.getTime() ?? 0)
  const newest = seen.reduce((a, b) => Math.max(a, b), 0)
  return {
    clients: rows.length,
    enabled: count(row => row.enabled),
    by_system: tally(rows.map(row => row.distro_pretty ?? 'unknown')).map(([system, clients]) => ({ system, clients })),
    by_label: tally(rows.map(row => row.label)).map(([label, clients]) => ({ label, clients })),
    reboot_needed: count(row => row.reboot === 'needed'),
    not_seen: seen.filter(at => at < since).length,
    not_seen_days: days,
    never_seen: count(row => row.last_seen === null),
    failed: count(row => row.last_scan_status === 'error'),
    key_changed: changed.total,
    behind: count(row => (row.behind ?? 0) > 0),
    findings,
    with_findings: withFindings,
    findings_unknown: count(row => row.findings === null),
    closable_critical: count(row => (row.closes?.critical ?? 0) > 0),
    compliance: {
      pass: standings.filter(one => one === 'pass').length,
      fail: standings.filter(one => one === 'fail').length,
      unknown: standings.filter(one => one === 'unknown').length,
    },
    last_seen: newest === 0 ? null : new Date(newest).toISOString(),
  }
}
