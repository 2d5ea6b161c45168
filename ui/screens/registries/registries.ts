import { href } from '../../routes.svelte.ts'
import { phrase, plural } from '../../show.ts'
import type { Reply } from '../../wire.ts'
import { STATES } from '../../words.ts'

/** A registry as the list shows it. */
export type Registry = Reply<'GET /registries/'>['registries'][number]

/** The formats that registries have, in the order in which they are shown, as people call them. */
export const REGISTRY_FORMATS: Readonly<Record<string, string>> = {
  npm: 'npm',
  pypi: /* @wc-ignore */ 'PyPI',
  maven: /* @wc-ignore */ 'Maven',
  oci: 'OCI',
}
export const formatWord = (format: string): string => REGISTRY_FORMATS[format] ?? format

export const isRegistryFormat = (format: string): boolean => Object.hasOwn(REGISTRY_FORMATS, format)

/** Where the page of a distribution or registry is. */
export const hrefOfPlace = ({ codename, format }: { readonly codename: string; readonly format: string }): string =>
  isRegistryFormat(format) ? href('registries', { in: codename }) : href('distributions', { pick: codename })

/** What kind of registry it is, in a word. */
export const KINDS: Readonly<Record<string, string>> = {
  hosted: phrase('hosted'),
  proxy: phrase('proxy'),
  group: phrase('group'),
}

/** The same in a line, for who makes one. */
export const KIND_LINES: Readonly<Record<string, string>> = {
  hosted: phrase('hosted: packages are published here'),
  proxy: phrase('proxy: reads through to another registry'),
  group: phrase('group: one address for several'),
}

/** How its versions stand: what waits or is kept away comes before what clients get. */
export interface Standing {
  /** What the list of packages filters by. */
  readonly state: 'published' | 'not_published'
  readonly word: string
  readonly icon: string
  readonly tone: string
}

/** The one sentence that fits a row; undefined where there is no version. */
export function standingOf({
  versions,
  held,
}: {
  readonly versions: number
  readonly held: number
}): Standing | undefined {
  if (held > 0) return { ...STATES.pending_review, state: 'not_published', word: plural(held, ['# held', '# held']) }
  if (versions > 0) return { ...STATES.published, state: 'published', word: plural(versions, ['# served', '# served']) }
  return undefined
}

/** A name that moves, and the version that it names. */
export type Tag = Reply<'GET /registries/{name}/packages/{package}/tags'>['tags'][number]

type OfName = Reply<'GET /registries/{name}/packages'>['packages'][number]
/** A name of a registry, with the version that speaks for it. */
export interface Named extends OfName {
  readonly speaker: OfName['newest'][number] | undefined
}

/**
 * What clients get comes first: the version that `latest` names, else the newest that is served and not yanked, else
 * the newest.
 */
export function withSpeaker(one: OfName): Named {
  const published = one.newest.filter(({ status }) => status === 'published')
  const taken = published.filter(({ mark }) => mark?.kind !== 'yanked')
  const served = taken.length > 0 ? taken : published
  const latest = one.tags.find(({ tag }) => tag === 'latest')?.version
  return { ...one, speaker: served.find(({ version }) => version === latest) ?? served[0] ?? one.newest[0] }
}
