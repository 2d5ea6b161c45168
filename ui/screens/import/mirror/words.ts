import { count, plural } from '../../../show.ts'
import type { Reply } from '../../../wire.ts'
import type { Said } from '../words.ts'

export type MirrorSource = Reply<'GET /import/mirror/sources'>['sources'][number]
export type MirrorRule = MirrorSource['rule']
export type MirrorJob = Reply<'GET /import/mirror/jobs'>['jobs'][number]
export type MirrorReport = NonNullable<MirrorSource['report']>
export type MirrorSchedule = Reply<'GET /import/mirror/schedule'>
export type MirrorDistribution = Reply<'GET /import/mirror/distributions'>['distributions'][number]
export type Comparison = Reply<'GET /import/mirror/distributions/{codename}/compare'>

/** How the last run ended. The report's sentence has the way on. */
const ENDS: Readonly<Record<MirrorReport['end'], Said>> = {
  complete: { word: 'All is here', icon: 'published', tone: 'published' },
  packages: { word: 'Goes on next time', icon: 'wait', tone: 'dim' },
  time: { word: 'Time was over', icon: 'wait', tone: 'dim' },
  disk: { word: 'Disk is too full', icon: 'warn', tone: 'warned' },
  frozen: { word: 'Frozen', icon: 'pause', tone: 'dim' },
  cancelled: { word: 'Cancelled', icon: 'minus', tone: 'dim' },
}
const FAILED: Said = { word: 'Failed', icon: 'fail', tone: 'failed' }

/** The last run of a source; undefined where there was none. */
export function lastRunOf({
  last_job: job,
  report,
}: MirrorSource): { readonly said: Said; readonly at: string } | undefined {
  if (job?.status === 'error' && job.finished_at !== null) return { said: FAILED, at: job.finished_at }
  if (job?.status === 'cancelled' && job.finished_at !== null && report?.job_id !== job.job_id)
    return { said: ENDS.cancelled, at: job.finished_at }
  if (report === null) return undefined
  const said = ENDS[report.end]
  const isStale = report.synchronised.state !== 'ok' && report.synchronised.state !== 'never'
  const isBad = report.errors + report.blocked > 0 || isStale
  return { said: isBad ? { ...said, icon: 'warn', tone: 'warned' } : said, at: report.ended_at }
}

/** What came of the packages of a run, those counts that are not zero. */
export function countsOf(tally: {
  readonly added: number
  readonly pending: number
  readonly blocked: number
  readonly skipped: number
  readonly errors: number
}): readonly Said[] {
  const all: readonly (readonly [number, Said])[] = [
    [tally.added, { word: `${count(tally.added)} published`, icon: 'published', tone: 'published' }],
    [tally.pending, { word: `${count(tally.pending)} in review`, icon: 'review', tone: 'review' }],
    [tally.blocked, { word: `${count(tally.blocked)} blocked`, icon: 'rejected', tone: 'rejected' }],
    [tally.errors, { word: `${count(tally.errors)} failed`, icon: 'fail', tone: 'failed' }],
    [tally.skipped, { word: `${count(tally.skipped)} here already`, icon: 'published', tone: 'dim' }],
  ]
  return all.filter(([n]) => n > 0).map(([, said]) => said)
}

/** What a rule says, a line for each part; one line for a rule that takes everything. */
export function linesOf(rule: MirrorRule): readonly string[] {
  const lines = [
    ...(rule.security_only ? ['Security updates only'] : []),
    ...(rule.names.length > 0 ? [`Names: ${rule.names.join(' ')}`] : []),
    ...(rule.sections.length > 0 ? [`Sections: ${rule.sections.join(' ')}`] : []),
    ...(rule.priorities.length > 0 ? [`Priorities: ${rule.priorities.join(' ')}`] : []),
    ...(rule.newest === null ? [] : [`Of each name ${plural(rule.newest, ['# version', '# versions'])}`]),
    ...(rule.distributions.length > 0 ? [`Into: ${rule.distributions.join(' ')}`] : []),
  ]
  return lines.length === 0 ? ['Everything that it lists'] : lines
}

/** `04:05` */
export const hourOf = ({ hour, minute }: Pick<MirrorSchedule, 'hour' | 'minute'>): string =>
  `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`

/** How a package of a source stands to those here. */
export const STANDINGS: Readonly<Record<Comparison['packages'][number]['standing'], Said>> = {
  new: { word: 'New', icon: 'plus', tone: 'accent-c' },
  newer: { word: 'Newer', icon: 'chevu', tone: 'accent-c' },
  older: { word: 'Older', icon: 'chevd', tone: 'dim' },
  changed: { word: 'Other bytes than here', icon: 'fail', tone: 'failed' },
  gone: { word: 'No longer listed', icon: 'minus', tone: 'warned' },
}
