import { fail } from '../core/errors.ts'
import { judgeRecord, licenceRecord } from '../core/licences/policy.ts'
import { DONE, policyOf } from '../core/policy.ts'
import type { Report } from '../core/report.ts'
import { isRegistry } from '../core/repository.ts'
import type { Inspection } from '../formats/format.ts'
import type { Queryable } from '../db/db.ts'
import type { Lanes } from '../lib/lanes.ts'
import { inheritedLicence } from './inherited-licence.ts'
import { printIdentity, type Step, type Subject } from './subject.ts'

/** What comes together was built together. @throws bad_package */
function mustComeFrom({ builtFrom, file }: Pick<Subject, 'builtFrom' | 'file'>, { about }: Inspection): void {
  if (builtFrom === undefined) return
  if (about.source === builtFrom.source && about.source_version === builtFrom.version) return
  fail('bad_package', {
    filename: file.filename,
    why: `it is built from ${about.source} ${about.source_version}, and it came with ${builtFrom.source} ${builtFrom.version}`,
  })
}

/**
 * Makes a subject. The package is read once, at the first request, when its size is due.
 * @param known  what was read of these bytes already
 * @throws from `inspected`: bad_package when it cannot be read or its names are not allowed, wrong_arch, unpacking_full
 */
export function createSubject(given: Omit<Subject, 'inspected'>, unpacking: Lanes, known?: Inspection): Subject {
  let reading: Promise<Inspection> | undefined
  const inspect = async (signal: AbortSignal): Promise<Inspection> => {
    const { format, file, distribution, unpacked } = given
    const inspection =
      known ??
      (await unpacking.run({ sizeBytes: file.blob.size, signal }, () => format.inspect(file, signal, unpacked)))
    const { identity } = inspection
    const isOfOthers = distribution.registry?.kind === 'proxy'
    const why = format.complain(identity) ?? (isOfOthers ? undefined : format.complainNew?.(identity))
    if (why !== undefined) fail('bad_package', { filename: file.filename, why })
    mustComeFrom(given, inspection)
    // which architectures a registry takes is for its format to say
    if (inspection.kind === 'source' || isRegistry(distribution)) return inspection
    if (![...distribution.archs, ...distribution.neutral].includes(identity.arch)) {
      fail('wrong_arch', {
        codename: distribution.codename,
        takes: [...distribution.archs, ...distribution.neutral].join(', '),
        is: identity.arch,
      })
    }
    return inspection
  }
  return { ...given, inspected: signal => (reading ??= inspect(signal)) }
}

/**
 * Step 1, and what the policy makes of the licence that the package declares, or that it inherits. A file that is no
 * readable package has no identity, so nothing could be kept as rejected: it is refused with an error and never comes
 * back as a report.
 */
export const formatStep = (db: Queryable): Step => ({
  name: 'format',
  async run(subject, signal): Promise<Report> {
    const { identity, about, facts } = await subject.inspected(signal)
    const { format, settings, again } = subject
    const inherited = about.license === undefined ? await inheritedLicence(db, subject, facts) : undefined
    const licence = licenceRecord(about.license, format.declaresLicence?.(facts) === true, inherited)
    const base = { step: 'format', ...(licence === undefined ? {} : { licence }) } as const
    const { action, said = '' } = judgeRecord(licence, policyOf(settings).licences)
    if (action === 'allow')
      return { ...base, outcome: 'ok', verdict: 'valid', said: `${format.label}: ${printIdentity(identity)}.` }
    // the other steps look at it all the same: somebody may let it through
    return {
      ...base,
      outcome: 'warned',
      verdict: 'licence',
      // known already: it was judged when it came, and only told of now
      said: again === undefined ? `${said} ${DONE[action]}` : said,
      ...(action === 'warn' ? {} : { holds: true }),
    }
  },
})
