import { fail } from '../core/errors.ts'
import { isRegistry } from '../core/repository.ts'
import type { Inspection } from '../formats/format.ts'
import type { Lanes } from '../lib/lanes.ts'
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
 * Step 1. A file that is no readable package has no identity, so nothing could be kept as rejected: it is refused with
 * an error and never comes back as a report.
 */
export const formatStep: Step = {
  name: 'format',
  async run(subject, signal) {
    const { identity } = await subject.inspected(signal)
    return {
      step: 'format',
      outcome: 'ok',
      verdict: 'valid',
      said: `${subject.format.label}: ${printIdentity(identity)}.`,
    }
  },
}
