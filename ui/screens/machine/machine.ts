import { day, phrase, plural } from '../../show.ts'
import type { Reply } from '../../wire.ts'

export type MachineReply = Reply<'GET /machine'>
export type View = NonNullable<MachineReply['machine']>
export type Here = MachineReply['here']
export type Mark = View['time']['mark']
export type UpdateView = Reply<'POST /machine/updates/look'>
export type WindowView = NonNullable<View['window']>

/** How a mark is drawn, and what it is called for readers. */
export const MARKS: Readonly<Record<Mark, { readonly icon: string; readonly tone: string; readonly word: string }>> = {
  good: { icon: 'published', tone: 'ok-c', word: 'Good:' },
  warning: { icon: 'warn', tone: 'warn-c', word: 'Needs attention:' },
  bad: { icon: 'fail', tone: 'danger-c', word: 'Fails:' },
  unknown: { icon: 'unavailable', tone: 'dim', word: 'Unknown:' },
}
/** What the machine calls its parts, and what was looked at of it. */
const PARTS: Readonly<Record<string, string>> = {
  Age: 'Age',
  Certificate: 'Certificate',
  Clock: 'Clock',
  Database: 'Database',
  Disk: 'Disk',
  Files: 'Files',
  Firewall: 'Firewall',
  Hardening: 'Hardening',
  Health: 'Health',
  Logs: 'Logs',
  Passwords: 'Passwords',
  Processor: 'Processor',
  Releases: 'Releases',
  Rights: 'Rights',
  Room: 'Room',
  Screen: 'Screen',
  Services: 'Services',
  Signatures: 'Signatures',
  Units: 'Units',
  Version: 'Version',
}
/** The same in the language of the page; names of programs stay, and what has two words came translated. */
export const partWord = (what: string): string => PARTS[what] ?? what

const WEIGHT: Readonly<Record<Mark, number>> = { bad: 0, warning: 1, unknown: 2, good: 3 }
/** The worst of several; unknown is worse than good. */
export const worst = (marks: readonly Mark[]): Mark => marks.toSorted((a, b) => WEIGHT[a] - WEIGHT[b])[0] ?? 'unknown'

const DAY_MS = 86_400_000
const NOTICE_DAYS = 30
const DRIFT_MS = 2_000
export const daysTo = (iso: string): number => Math.floor((Date.parse(iso) - Date.now()) / DAY_MS)

/** The certificate by its end as well as by what the machine says of it. */
export function certificateMark({ ends_at: end, mark }: View['certificate']): Mark {
  const days = daysTo(end)
  if (Number.isNaN(days)) return 'unknown'
  return days < 0 ? 'bad' : days < NOTICE_DAYS ? worst([mark, 'warning']) : mark
}
export function clockMark({ drift_ms: drift, mark }: View['time']): Mark {
  if (drift === null) return worst([mark, 'warning'])
  return Math.abs(drift) > DRIFT_MS ? worst([mark, 'warning']) : mark
}
export const AGAIN_AND_AGAIN = 3
export const serviceMark = ({ mark, restarts }: View['services'][number]): Mark =>
  restarts >= AGAIN_AND_AGAIN ? worst([mark, 'warning']) : mark

/** `The certificate ends on 5 Dec` */
function certificateSaid({ ends_at: end }: View['certificate']): string {
  const days = daysTo(end)
  if (Number.isNaN(days)) return 'When the certificate ends is unknown'
  return days < 0 ? `The certificate ended on ${day(end)}` : `The certificate ends on ${day(end)}`
}

/** What is not good, in one sentence each, the worst first. */
export function issuesOf(view: View): readonly { readonly mark: Mark; readonly say: string }[] {
  const { network, certificate, time, services, disks, updates, findings } = view
  const { last } = updates
  const found: { mark: Mark; say: string }[] = [
    { mark: certificateMark(certificate), say: certificateSaid(certificate) },
    {
      mark: clockMark(time),
      say: time.drift_ms === null ? 'No time server answers' : 'The clock is off',
    },
    ...(updates.reboot_required ? [{ mark: 'warning' as const, say: phrase('The machine has to be restarted') }] : []),
    ...services.map(one => ({
      mark: serviceMark(one),
      say:
        one.mark === 'good'
          ? `${partWord(one.word)} was restarted again and again`
          : `${partWord(one.word)} ${one.said}`,
    })),
    ...disks.map(({ name, mark, said }) => ({ mark, say: `${DISKS[name]}: ${said}` })),
    ...(last !== null && (last.state === 'went_back' || last.state === 'failed')
      ? [
          {
            mark: 'bad' as const,
            say:
              last.state === 'failed'
                ? `The update to ${last.version} failed`
                : `The update to ${last.version} went back`,
          },
        ]
      : []),
    ...network.dns.map(({ address, mark, said }) => ({ mark, say: `DNS ${address}: ${said}` })),
    ...findings.map(({ what, mark, said }) => ({ mark, say: `${partWord(what)}: ${said}` })),
  ]
  return found.filter(({ mark }) => mark !== 'good').toSorted((a, b) => WEIGHT[a.mark] - WEIGHT[b.mark])
}

export const DISKS: Readonly<Record<View['disks'][number]['name'], string>> = { packages: 'Packages', system: 'System' }

/** The verdict over everything. */
export function verdictOf(view: View): {
  readonly word: string
  readonly more: string
  readonly icon: string
  readonly tone: string
} {
  const all = issuesOf(view)
  const todo = all.filter(({ mark }) => mark !== 'unknown')
  const unknown = all.length - todo.length
  const notKnown = unknown === 0 ? '' : `${plural(unknown, ['# fact', '# facts'])} could not be looked at.`
  const [first] = todo
  if (first === undefined)
    return {
      word: unknown === 0 ? 'The machine is fine' : 'Nothing is wrong as far as is known',
      more: notKnown === '' ? 'Nothing has to be done.' : notKnown,
      icon: 'check',
      tone: unknown === 0 ? 'good' : 'quiet',
    }
  return {
    word: first.say,
    more: `${todo.length === 1 ? 'Nothing else has to be done.' : `${plural(todo.length - 1, ['# more thing is', '# more things are'])} marked below.`} ${notKnown}`.trim(),
    icon: first.mark === 'bad' ? 'fail' : 'warn',
    tone: first.mark === 'bad' ? 'bad' : '',
  }
}

export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** `Saturday 02:00 to 05:00` */
export function windowWords({ days, from, to }: WindowView): string {
  const named = [...days].sort((a, b) => a - b).map(one => DAYS[one] ?? '')
  return `${days.length === 7 ? 'Every day' : named.join(', ')} ${from} to ${to}`
}

/** What is asked when somebody looks at one line of a release. */
export function changeOf(line: string): { readonly kind: string; readonly text: string } {
  const [, kind = '', text = line] = /^(\w{2,12}):\s*(.*)$/s.exec(line) ?? []
  return { kind, text }
}

/** Where a file of a stick lies on the machine. */
export const onStick = ({ path }: Pick<View['media'][number], 'path'>, file: string): string => `${path}/${file}`

/** What is under way, by its verb. */
export const WORK: Readonly<Record<string, string>> = {
  'network.set': 'The network is being changed',
  'network.keep': 'The network is being kept',
  'time.set': 'The time is being set',
  'certificate.put': 'The certificate is being changed',
  'certificate.own': 'The certificate is being changed',
  'certificate.acme': 'A certificate is being fetched',
  'service.restart': 'A service is being restarted',
  'update.install': 'An update is being installed',
  'update.cancel': 'An update is being cancelled',
  'update.back': 'The machine goes back to the release of before',
  'window.set': 'The maintenance window is being set',
  'remote_log.set': 'The remote log is being set',
  'power.restart': 'The machine restarts',
  'power.off': 'The machine is being powered off',
}
