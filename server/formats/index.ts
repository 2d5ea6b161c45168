import { fail } from '../core/errors.ts'
import type { FormatId } from '../core/identity.ts'
import type { Format } from './format.ts'
import { apk } from './apk/index.ts'
import { deb } from './deb/index.ts'
import { rpm } from './rpm/index.ts'

/** Every format there is. A new one is one line here. */
export const FORMATS: readonly Format[] = [deb, rpm, apk]

/** What the deployment setting REPO_FORMAT switches on. */
const SWITCHED_ON: ReadonlyMap<string, readonly FormatId[]> = new Map([
  ['apt', ['deb']],
  ['rpm', ['rpm']],
  ['apk', ['apk']],
  ['both', ['deb', 'rpm']],
  ['all', ['deb', 'rpm', 'apk']],
])

/** The formats that take uploads here: unset means all, an unknown word means apt (the specification, 1). */
export function activeFormats(repoFormat: string | undefined): readonly Format[] {
  const ids = SWITCHED_ON.get(repoFormat ?? 'all') ?? ['deb']
  return FORMATS.filter(format => ids.includes(format.id))
}

/** The words for REPO_FORMAT that switch a format on: `rpm, both or all`. */
export function switchesFor(id: FormatId): string {
  const words = [...SWITCHED_ON].flatMap(([word, ids]) => (ids.includes(id) ? [word] : []))
  return words.join(', ').replace(/, ([^,]*)$/, ' or $1')
}

/**
 * The format of a manifest or a distribution. @throws Error when this build does not have it: a fault, not a refusal
 */
export function getFormat(id: FormatId): Format {
  const format = FORMATS.find(one => one.id === id)
  if (format === undefined) throw new Error(`there is no package format ${id} in this build`)
  return format
}

/**
 * The format of a file, by its first 512 bytes; its name proves nothing and is for the message.
 * @throws unknown_format
 */
export function recognise(head: Uint8Array, filename: string, formats: readonly Format[] = FORMATS): Format {
  return (
    formats.find(format => format.recognises(head)) ??
    fail('unknown_format', {
      filename: filename.slice(0, 200),
      formats: formats.map(format => format.label).join(' nor '),
    })
  )
}
