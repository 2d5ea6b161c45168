import { fail } from '../core/errors.ts'
import type { FormatId } from '../core/identity.ts'
import type { Format } from './format.ts'
import { apk } from './apk/index.ts'
import { deb } from './deb/index.ts'
import { maven } from './maven/index.ts'
import { npm } from './npm/index.ts'
import { oci } from './oci/index.ts'
import { pypi } from './pypi/index.ts'
import { rpm } from './rpm/index.ts'
import type { ClientSide, Site } from './site.ts'

/** Every format there is. A new one is its folder and one line here. */
export const FORMATS: readonly Format[] = [deb, rpm, apk, npm, pypi, oci, maven]

/** The values of REPO_FORMAT that switch on several formats. Source: the specification, 1. */
const SEVERAL: ReadonlyMap<string, (format: Format) => boolean> = new Map([
  ['both', ({ word }: Format) => word === 'apt' || word === 'rpm'],
  ['all', () => true],
])

const isSwitchedOn = (format: Format, word: string): boolean => SEVERAL.get(word)?.(format) ?? format.word === word

/** Every value of REPO_FORMAT. */
export const formatWords = (formats: readonly Format[] = FORMATS): readonly string[] => [
  ...formats.map(format => format.word),
  ...SEVERAL.keys(),
]

/** The formats that take uploads here: unset means all, an unknown word means apt (the specification, 1). */
export function activeFormats(repoFormat: string | undefined, formats: readonly Format[] = FORMATS): readonly Format[] {
  const word = repoFormat ?? 'all'
  const known = formatWords(formats).includes(word) ? word : 'apt'
  return formats.filter(format => isSwitchedOn(format, known))
}

/** Whether repositories of this format are registries. */
export const hasRegistries = (format: Pick<Format, 'registryClient'>): boolean => format.registryClient !== undefined

/** Where clients fetch the trees of a format from. @throws Error where it has registries: a fault, not a refusal */
export function siteOf({ id, site }: Pick<Format, 'id' | 'site'>): Site {
  if (site === undefined) throw new Error(`the format ${id} has no trees`)
  return site
}

/** How clients of its trees are set up. @throws Error where it has registries: a fault, not a refusal */
export function clientOf({ id, client }: Pick<Format, 'id' | 'client'>): ClientSide {
  if (client === undefined) throw new Error(`the format ${id} has no trees`)
  return client
}

/** Whether packages of this format are published as signed trees. */
export const hasTree = (id: FormatId): boolean => getFormat(id).tree !== undefined

/** The values of REPO_FORMAT that switch a format on: `rpm, both or all`. */
export function switchesFor(id: FormatId, formats: readonly Format[] = FORMATS): string {
  const format = formats.find(one => one.id === id)
  const words = format === undefined ? [] : formatWords(formats).filter(word => isSwitchedOn(format, word))
  return words.join(', ').replace(/, ([^,]*)$/, ' or $1')
}

/**
 * The format of a manifest or a distribution. @throws Error when this build does not have it: a fault, not a refusal
 */
export type GetFormat = (id: FormatId) => Format

/** Finds formats in a list. */
export const formatsIn =
  (formats: readonly Format[]): GetFormat =>
  id => {
    const format = formats.find(one => one.id === id)
    if (format === undefined) throw new Error(`there is no package format ${id} in this build`)
    return format
  }

/** Finds formats among all that this build has. */
export const getFormat: GetFormat = formatsIn(FORMATS)

/**
 * The format of a file for a tree, by its first 512 bytes; its name is only for the message.
 * @throws unknown_format
 */
export function recognise(head: Uint8Array, filename: string, formats: readonly Format[] = FORMATS): Format {
  const ofTrees = formats.filter(format => !hasRegistries(format))
  return (
    ofTrees.find(format => format.recognises(head)) ??
    fail('unknown_format', {
      filename: filename.slice(0, 200),
      formats: ofTrees.map(format => format.label).join(' nor '),
    })
  )
}
