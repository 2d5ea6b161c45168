import type { Notice, NoticeDisk, NoticePackage, Overdue } from './notice.ts'

/** The body of an outgoing webhook. Chat tools show `text`; the rest is for programs. */
export interface Rendered {
  readonly event: string
  readonly timestamp: string
  readonly text: string
  readonly subject: string
  readonly [detail: string]: unknown
}

const MOST_LINES = 50
const nameOf = ({
  name,
  version,
  arch,
  distribution,
}: Pick<NoticePackage, 'name' | 'version' | 'arch' | 'distribution'>): string =>
  `${name} ${version} (${distribution}, ${arch})`
const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`

/** The cause, and the findings where they are it. */
function whyOf({ worst, cves, reasons = [], steps = ['vulnerabilities'] }: NoticePackage): string {
  const shown = cves.slice(0, 5).join(', ')
  const found =
    cves.length === 0 || !steps.includes('vulnerabilities')
      ? []
      : [`Findings, worst ${worst ?? 'unknown'}: ${shown}${cves.length > 5 ? ` and ${cves.length - 5} more` : ''}.`]
  return [...reasons, ...found].map(sentence => ` ${sentence}`).join('')
}

function overdueText(packages: readonly Overdue[]): string {
  const lines = packages
    .slice(0, MOST_LINES)
    .map(one => `- ${nameOf(one)}: ${one.worst ?? 'no severity'}, due ${one.due_at.slice(0, 10)}`)
  const more = packages.length > MOST_LINES ? [`- and ${packages.length - MOST_LINES} more`] : []
  return [
    `${count(packages.length, 'package is', 'packages are')} past the deadline for a decision:`,
    ...lines,
    ...more,
  ].join('\n')
}

function diskText(notice: Notice & { readonly disk: NoticeDisk }): string {
  const { free_gb: free, total_gb: total, days_until_full: days, remedy } = notice.disk
  const soon = days === null ? '' : ` It will be full in ${count(days, 'day', 'days')} if it goes on like this.`
  return `${subjectOf(notice)}. ${free} of ${total} GB are free.${soon} ${remedy}`
}

/** The first line, for people. */
function subjectOf(notice: Notice): string {
  switch (notice.event) {
    case 'package.quarantined':
      return `Quarantined: ${nameOf(notice.package)}`
    case 'package.pending_review':
      return `Waiting for review: ${nameOf(notice.package)}`
    case 'sla.breached':
      return `${count(notice.packages.length, 'package is', 'packages are')} past the deadline for a decision`
    case 'disk.filling':
      return `The disk is ${notice.disk.used_pct} % full`
    case 'disk.uploads_stopped':
      return `Uploads have stopped: ${notice.disk.free_gb} GB are free on the disk`
    case 'sync.finished':
      return `Synchronisation of ${notice.source}: ${notice.result}`
    case 'mirror.finished':
      return `Mirror of ${notice.source}: ${notice.result}`
  }
}

function textOf(notice: Notice): string {
  switch (notice.event) {
    case 'package.quarantined':
      return `${nameOf(notice.package)} from ${notice.package.by} is quarantined and not published.${whyOf(notice.package)}`
    case 'package.pending_review':
      return `${nameOf(notice.package)} from ${notice.package.by} waits for review and is not published.${whyOf(notice.package)}`
    case 'sla.breached':
      return overdueText(notice.packages)
    case 'disk.filling':
    case 'disk.uploads_stopped':
      return diskText(notice)
    case 'sync.finished':
    case 'mirror.finished':
      return `${subjectOf(notice)}, ${count(notice.packages, 'package', 'packages')} changed.${notice.detail === undefined ? '' : ` ${notice.detail}`}`
  }
}

/** The whole body. @param at  ISO 8601 @param appUrl  where people reach the console */
export function renderNotice(notice: Notice, at: string, appUrl: string): Rendered {
  return {
    event: notice.event,
    timestamp: at,
    text: textOf(notice),
    subject: subjectOf(notice),
    console: appUrl,
    ...details(notice),
  }
}

function details(notice: Notice): Record<string, unknown> {
  const { event: _, ...rest } = notice
  return rest
}
