import { createHash } from 'node:crypto'
import { SEVERITIES } from '../../core/findings.ts'
import { escapeHtml } from '../../lib/html.ts'
import type { DecisionRow } from '../../review/history.ts'
import type { SecurityReport } from './report.ts'

const STYLE = `
:root { color-scheme: light }
body { font: 14px/1.45 system-ui, "Liberation Sans", sans-serif; color: #16202c; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 2px solid #16202c; padding-bottom: .2rem }
.sub { color: #51606f; margin: 0 } table { border-collapse: collapse; width: 100%; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid #d5dce3 }
th { font-weight: 600 } td.l { overflow-wrap: anywhere; min-width: 4.5rem } td.s { white-space: nowrap } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
tr { break-inside: avoid } thead { display: table-header-group } h2 { break-after: avoid }
@page { size: A4; margin: 18mm 15mm } @media print { body { max-width: none; margin: 0; padding: 0; font-size: 10pt } }
`

/** The page's own policy: its one style and nothing else, no script, no image, no frame. */
export const REPORT_CSP = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const escape = (text: string | number): string => escapeHtml(String(text))
const day = (iso: string | null): string => (iso === null ? '–' : iso.slice(0, 10))
const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

type Cell = string | number
interface Column {
  readonly head: string
  readonly kind: 'l' | 'n' | 's'
}

/** A table, or a sentence where it would be empty. Cells are text, never markup. */
function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], empty: string): string {
  if (rows.length === 0) return `<p>${escape(empty)}</p>`
  const kind = (n: number): string => ` class="${columns[n]?.kind ?? 'l'}"`
  const head = columns.map((column, n) => `<th scope="col"${kind(n)}>${escape(column.head)}</th>`).join('')
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.map(cells => `<tr>${cells.map((cell, n) => `<td${kind(n)}>${escape(cell)}</td>`).join('')}</tr>`).join('\n')}</tbody></table>`
}

// words and dates that must not be cut, however narrow the paper
const SHORT = new Set(['Severity', 'Worst', 'Decision', 'Held since', 'Due', 'Until', 'Data of'])
const text = (...heads: readonly string[]): Column[] => heads.map(head => ({ head, kind: SHORT.has(head) ? 's' : 'l' }))
const numbers = (...heads: readonly string[]): Column[] => heads.map(head => ({ head, kind: 'n' }))
const more = (shown: number, total: number): string =>
  total > shown ? `<p class="sub">${shown} of ${total} are shown.</p>` : ''

function decisionTable(rows: readonly DecisionRow[], empty: string): string {
  return table(
    text('Decided', 'By', 'Package', 'About', 'Decision', 'Justification', 'Until'),
    rows.map(row => [
      minute(row.decided_at),
      row.decided_by,
      `${row.name} ${row.version} (${row.arch}, ${row.distribution})`,
      row.cve ?? 'the package',
      row.decision,
      row.justification,
      row.expires_at === null ? 'no end' : `${day(row.expires_at)}${row.expired ? ' (ended)' : ''}`,
    ]),
    empty,
  )
}

function standing({ posture, engines, policy, four_eyes, days }: SecurityReport): string {
  const { by_status: states, review, findings, exceptions } = posture
  return `<h2>Where the repository stands</h2>
${table(numbers('Served', 'Waiting', 'In quarantine', 'Rejected', 'Overdue', 'Exceptions'), [[states.published, states.pending_review, states.quarantined, states.rejected, review.overdue, exceptions.standing]], '')}
<h2>Findings in served and waiting packages</h2>
${table(numbers(...SEVERITIES, 'accepted', 'known exploited', 'with a fix'), [[...SEVERITIES.map(severity => findings[severity]), findings.accepted, findings.kev, findings.fixable]], '')}
<h2>By distribution</h2>
${table(
  [
    ...text('Distribution', 'Worst'),
    ...numbers('Packages', 'With findings', 'Not scanned in full', 'Waiting', 'Known exploited'),
  ],
  posture.by_distribution.map(row => [
    row.distribution,
    row.worst ?? '–',
    row.packages,
    row.with_findings,
    row.not_looked,
    row.waiting,
    row.kev,
  ]),
  'There are no packages.',
)}
<h2>Rules</h2>
${table(
  text('Rule', 'Value'),
  [
    ...Object.entries(policy).map(([key, value]): Cell[] => [key, String(value)]),
    ...Object.entries(posture.sla_days).map(([severity, n]): Cell[] => [`days to decide, ${severity}`, n ?? '–']),
    ['four eyes', four_eyes ? 'on' : 'off'],
  ],
  '',
)}
<h2>Engines</h2>
${table(
  text('Engine', 'State', 'Version', 'Data of'),
  engines.map(engine => [
    engine.id,
    engine.ok ? 'answers' : (engine.error ?? 'does not answer'),
    engine.version ?? '–',
    day(engine.data_at ?? engine.signatures_at ?? null),
  ]),
  'No engine is configured.',
)}
<p class="sub">Decisions below are of ${days} days.</p>`
}

/** The report as one printable page: no script, nothing from elsewhere, every value escaped. */
export function renderReport(report: SecurityReport): string {
  const { waiting, vulnerabilities, decisions, exceptions } = report
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Security report ${escape(day(report.generated_at))}</title><style>${STYLE}</style></head>
<body><header><h1>Security report</h1><p class="sub">Gatehouse, ${escape(minute(report.generated_at))}, made for ${escape(report.generated_by)}</p></header>
<main>${standing(report)}
<h2>Waiting for a decision</h2>
${table(
  text('Package', 'Severity', 'Vulnerabilities', 'Held since', 'Due', 'Assigned to'),
  waiting.packages.map(one => [
    `${one.name} ${one.version} (${one.arch}, ${one.distribution})`,
    one.severity ?? 'none',
    one.cves.map(({ id }) => id).join(', ') || one.reasons.join(' '),
    day(one.held_at),
    `${day(one.sla.due_at)}${one.sla.breached ? ' (overdue)' : ''}`,
    one.assigned_to ?? 'nobody',
  ]),
  'Nothing waits.',
)}${more(waiting.packages.length, waiting.total)}
<h2>Vulnerabilities</h2>
${table(
  [...text('Id', 'Severity', 'EPSS', 'Known exploited', 'Fixed in'), ...numbers('Packages', 'Served', 'Not accepted')],
  vulnerabilities.worst.map(one => [
    one.id,
    one.severity,
    one.epss === null ? '–' : one.epss.toFixed(3),
    one.kev ? 'yes' : 'no',
    one.fixed_versions.join(', ') || '–',
    one.package_count,
    one.published_count,
    one.open_count,
  ]),
  'None is known.',
)}${more(vulnerabilities.worst.length, vulnerabilities.total)}
<h2>Exceptions that stand</h2>
${decisionTable(exceptions.newest, 'There are none.')}${more(exceptions.newest.length, exceptions.total)}
<h2>Decisions</h2>
${decisionTable(decisions, 'There were none.')}${more(decisions.length, report.summary.decisions_count)}
</main></body></html>
`
}
