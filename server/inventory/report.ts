import { BadReport } from './bad-report.ts'
import { readOsRelease, scannerOf, type OsRelease } from './os-release.ts'
import { readPackages, type Installed } from './package-lists.ts'

/** The largest report that is read. */
export const REPORT_LIMIT_BYTES = 8 * 1024 * 1024

/** What a machine told of itself. */
export interface Report {
  /** The version of the reporter; undefined for a machine that was asked. */
  readonly agent: string | undefined
  readonly hostname: string
  readonly system: OsRelease
  readonly scanner: string | undefined
  readonly kernel: string | undefined
  readonly uptimeSeconds: number | undefined
  readonly reboot: 'needed' | 'no' | 'unknown'
  readonly rebootSaid: string
  readonly format: 'deb' | 'rpm' | 'apk'
  readonly packages: readonly Installed[]
}

const MARK = '==> '

/** The text, whole. @throws BadReport */
function textOf(bytes: Uint8Array): string {
  if (bytes.length > REPORT_LIMIT_BYTES) throw new BadReport(`it is larger than ${REPORT_LIMIT_BYTES / 1024 / 1024} MB`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new BadReport('it is not UTF-8')
  }
}

/** The lines of each section; what stands before the first mark, such as a greeting, is passed over. */
function sectionsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>()
  let current: string[] | undefined
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    if (!line.startsWith(MARK)) {
      current?.push(line)
      continue
    }
    const name = line.slice(MARK.length).trim()
    if (sections.has(name)) throw new BadReport(`it has the section ${name.slice(0, 40)} twice`)
    current = []
    sections.set(name, current)
  }
  return sections
}

const firstLine = (lines: readonly string[] | undefined): string | undefined => {
  const line = lines?.[0]
    ?.replace(/\p{Cc}/gu, '')
    .trim()
    .slice(0, 200)
  return line === '' ? undefined : line
}

function rebootOf(lines: readonly string[]): Pick<Report, 'reboot' | 'rebootSaid'> {
  const [state, why = ''] = [firstLine(lines), firstLine(lines.slice(1))]
  if (state === 'needed') {
    const [, running] = /^kernel (\S+)$/.exec(why) ?? []
    const said =
      running !== undefined
        ? `The kernel that runs, ${running}, is no longer installed.`
        : why === ''
          ? 'The system says that it waits for a restart.'
          : `The system says that it waits for a restart, for ${why}.`
    return { reboot: 'needed', rebootSaid: said }
  }
  return state === 'no'
    ? { reboot: 'no', rebootSaid: 'The system says that it does not wait for a restart.' }
    : { reboot: 'unknown', rebootSaid: 'Nothing on the machine tells whether it waits for a restart.' }
}

/** The format and the lines of the list. @throws BadReport */
function listOf(sections: ReadonlyMap<string, readonly string[]>): Pick<Report, 'format' | 'packages'> {
  const failed = [...sections.keys()].find(name => name.startsWith('failed '))?.slice('failed '.length)
  if (failed === 'none' || sections.has('packages none'))
    throw new BadReport('there is neither a dpkg, an rpm nor an apk database on the machine')
  if (failed !== undefined) throw new BadReport(`the machine could not list its ${failed.slice(0, 20)} packages`)
  const format = (['deb', 'rpm', 'apk'] as const).find(one => sections.has(`packages ${one}`))
  if (format === undefined) throw new BadReport('it has no list of packages')
  return { format, packages: readPackages(format, sections.get(`packages ${format}`) ?? []) }
}

/** Reads what the script of `collect-script.ts` printed. @throws BadReport with the reason: nothing of it counts */
export function readReport(bytes: Uint8Array): Report {
  const sections = sectionsOf(textOf(bytes))
  if (!sections.has('gatehouse 1'))
    throw new BadReport('its first mark is missing, or of another release of the reporter')
  if (!sections.has('end')) throw new BadReport('it was cut off: its last mark is missing')
  const system = readOsRelease(sections.get('os-release') ?? [])
  const uptime = Number.parseFloat(firstLine(sections.get('uptime')) ?? '')
  return {
    agent: firstLine(sections.get('agent')),
    hostname: firstLine(sections.get('hostname')) ?? '',
    system,
    scanner: scannerOf(system),
    kernel: firstLine(sections.get('kernel')),
    uptimeSeconds: Number.isFinite(uptime) && uptime >= 0 ? uptime : undefined,
    ...rebootOf(sections.get('reboot') ?? []),
    ...listOf(sections),
  }
}
