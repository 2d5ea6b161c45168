import { fail } from './errors.ts'
import type { Codename, FormatId } from './identity.ts'
import { wordsFor } from './default-distributions.ts'
import type { Distribution, Repositories } from './repository.ts'

/** A distribution as an admin defines it. Missing fields follow the one it is based on, or the format's defaults. */
export interface DefinitionFields {
  readonly format?: string | undefined
  readonly label?: string | undefined
  readonly architectures?: readonly string[] | undefined
  readonly components?: readonly string[] | undefined
  readonly suite?: string | undefined
  readonly origin?: string | undefined
  readonly release_label?: string | undefined
  readonly version?: string | undefined
  readonly description_line?: string | undefined
  /** Null: its packages are not scanned. */
  readonly scanner?: string | null | undefined
  readonly based_on?: string | undefined
  readonly end_of_life?: string | null | undefined
}

/** The distributions that a format allows. */
export interface DefinitionRules {
  readonly id: FormatId
  readonly archs: {
    readonly usual: readonly string[]
    readonly neutral: readonly string[]
    readonly known: readonly string[]
  }
  readonly hasComponents: boolean
}

export interface DefinitionDeps {
  readonly repositories: Pick<Repositories, 'all' | 'find' | 'trees'>
  readonly formats: readonly DefinitionRules[]
  /** Identifiers that vulnerability engines know: `debian:13`. */
  readonly scanners: readonly string[]
}

/** First segments of addresses that belong to no distribution, and the pool that reprepro keeps. */
const RESERVED = ['dists', 'pool', 'main', 'gpg.key', 'none', 'init', 'promote', 'migrate']
const CODENAME = /^[a-z0-9][a-z0-9.-]{0,62}[a-z0-9]$/
const COMPONENT = /^[a-z0-9][a-z0-9-]{0,31}$/
const DAY = /^\d{4}-\d{2}-\d{2}$/
/**
 * Visible characters and plain blanks. Others could make one line look like another: control characters, line ends,
 * changes of direction, blanks and fillers that show nothing (UTR 36, 2.5 and 2.10; U+2800 is an empty Braille cell).
 */
const ONE_LINE = /^(?:[^\p{C}\p{Z}\p{DI}\u2800]| ){1,200}$/u

const refuse = (field: string, why: string): never => fail('bad_distribution', { field, why })

/** @throws bad_distribution, distribution_exists */
export function readCodename(text: string, { repositories }: Pick<DefinitionDeps, 'repositories'>): Codename {
  if (!CODENAME.test(text) || text.includes('..') || RESERVED.includes(text))
    refuse(
      'codename',
      'small letters, digits, dots and hyphens are allowed, 2 to 64 of them, and no word of the addresses',
    )
  if (repositories.find(text) !== undefined) fail('distribution_exists', { codename: text })
  return text as Codename
}

function oneLine(field: string, text: string): string {
  return ONE_LINE.test(text) && text.trim() === text && text !== ''
    ? text
    : refuse(field, 'one line of 1 to 200 visible characters is needed, with no blank at either end')
}

function listOf(
  field: string,
  names: readonly string[],
  allowed: (name: string) => boolean,
  why: string,
): readonly string[] {
  const bad = names.find(name => !allowed(name))
  if (bad !== undefined) refuse(field, `${bad.slice(0, 40)} is not allowed: ${why}`)
  if (names.length === 0 || new Set(names).size !== names.length) refuse(field, 'one or more are needed, each once')
  return names
}

/** One that no engine knows would look covered and never find anything. */
function readScanner(text: string, { scanners }: DefinitionDeps): string {
  if (!scanners.includes(text))
    refuse(
      'scanner',
      `no vulnerability data is known for ${text.slice(0, 60)}. There are: ${scanners.join(', ')}; or null: not scanned`,
    )
  return text
}

/** A removed distribution may be added again on top of one that was based on it. */
function refuseCircle(codename: Codename, base: Distribution, { repositories }: DefinitionDeps): void {
  const seen = new Set<string>()
  for (let one: Distribution | undefined = base; one !== undefined && !seen.has(one.codename);) {
    if (one.basedOn === codename) refuse('based_on', `${one.codename} is itself based on ${codename}`)
    seen.add(one.codename)
    one = repositories.trees.find(one.basedOn ?? '')
  }
}

function readDay(text: string): string {
  const at = new Date(`${text}T00:00:00Z`)
  // Date takes the 31st of every month, and makes it the 1st of the next
  const isDay = DAY.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
  return isDay ? text : refuse('end_of_life', 'a day is needed, YYYY-MM-DD')
}

/**
 * Undefined also where the base of `before` does not exist any more.
 * @throws bad_distribution where the named one is not there, or is of another format
 */
function readBase(
  wish: DefinitionFields,
  before: Distribution | undefined,
  deps: DefinitionDeps,
): Distribution | undefined {
  if (wish.based_on === undefined) return deps.repositories.trees.find(before?.basedOn ?? '')
  const base =
    deps.repositories.trees.find(wish.based_on) ??
    refuse('based_on', `there is no distribution ${wish.based_on.slice(0, 80)}`)
  const format = wish.format ?? before?.format ?? base.format
  return base.format === format ? base : refuse('based_on', `${base.codename} is of the format ${base.format}`)
}

/**
 * Checks an admin's definition. @param before the distribution to change
 * @throws bad_distribution
 */
export function readDefinition(
  codename: Codename,
  wish: DefinitionFields,
  { before, ...deps }: DefinitionDeps & { readonly before?: Distribution | undefined },
): Distribution {
  const base = readBase(wish, before, deps)
  if (wish.based_on !== undefined && base !== undefined) refuseCircle(codename, base, deps)
  const known = deps.formats.map(({ id }) => id).join(', ')
  const id = wish.format ?? before?.format ?? base?.format ?? refuse('format', `it is needed. There are: ${known}`)
  if (before !== undefined && id !== before.format) refuse('format', 'it cannot be changed')
  const format = deps.formats.find(one => one.id === id) ?? refuse('format', `there are: ${known}`)
  const { archs } = format
  const label = wish.label ?? before?.label ?? base?.label ?? codename
  const words = before?.release ?? wordsFor(codename, label)
  const scanner =
    typeof wish.scanner === 'string' && wish.scanner !== before?.scanner
      ? readScanner(wish.scanner, deps)
      : wish.scanner === undefined
        ? (before ?? base)?.scanner
        : (wish.scanner ?? undefined)
  const end = wish.end_of_life === undefined ? (before ?? base)?.endOfLife : (wish.end_of_life ?? undefined)
  const version = wish.version ?? words.version
  const components = wish.components ?? before?.components ?? base?.components ?? ['main']
  if (!format.hasComponents && components.join() !== 'main') refuse('components', `${id} has none but main`)
  return {
    kind: 'distribution',
    codename,
    format: id,
    label: oneLine('label', label),
    archs: listOf(
      'architectures',
      wish.architectures ?? before?.archs ?? base?.archs ?? archs.usual,
      name => archs.known.includes(name),
      `${id} has ${archs.known.join(', ')}`,
    ),
    neutral: archs.neutral,
    components: listOf('components', components, name => COMPONENT.test(name), 'small letters, digits and hyphens'),
    release: {
      suite: oneLine('suite', wish.suite ?? words.suite),
      origin: oneLine('origin', wish.origin ?? words.origin),
      label: oneLine('release_label', wish.release_label ?? words.label),
      ...(version === undefined ? {} : { version: oneLine('version', version) }),
      description: oneLine('description_line', wish.description_line ?? words.description),
    },
    scanner,
    ...(base === undefined ? {} : { basedOn: base.codename }),
    ...(end === undefined ? {} : { endOfLife: readDay(end) }),
    state: before?.state ?? 'active',
    builtin: before?.builtin ?? false,
  }
}
