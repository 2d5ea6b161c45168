import { byKind, nameFact, type InstallFact } from '../core/install-facts.ts'
import type { Contents } from './component.ts'

/** What came and what went. */
export interface CameAndWent<T> {
  readonly added: readonly T[]
  readonly removed: readonly T[]
}

/** What installing one version does that the other does not. */
export interface InstallChanges {
  readonly facts: CameAndWent<InstallFact>
  /** Scripts, by name; `changed` have other bytes. */
  readonly scripts: CameAndWent<string> & { readonly changed: readonly string[] }
  /** Hosts that are contacted. */
  readonly hosts: CameAndWent<string>
  /** Where units listen. */
  readonly listens: CameAndWent<string>
  /** Libraries and programs inside, by package URL without a version. */
  readonly components: CameAndWent<string>
  /** Why there may be more, in one or two sentences; absent where both were read to their ends. */
  readonly cut?: string
}

/** What of a package's contents is compared. */
type Compared = Pick<Contents, 'install' | 'components' | 'cut'>

const MOST = 500

function between<T>(before: readonly T[], after: readonly T[], keyOf: (one: T) => string): CameAndWent<T> {
  const [old, now] = [new Set(before.map(keyOf)), new Set(after.map(keyOf))]
  return {
    added: after.filter(one => !old.has(keyOf(one))).slice(0, MOST),
    removed: before.filter(one => !now.has(keyOf(one))).slice(0, MOST),
  }
}

const self = (text: string): string => text
/** Lines move, what they do counts. */
const keyOf = ({ kind, path, text = '' }: InstallFact): string => `${kind}\n${path}\n${text}`
const unique = (all: readonly string[]): string[] => [...new Set(all)].sort()
const hostsOf = (facts: readonly InstallFact[]): string[] => unique(facts.flatMap(({ hosts }) => hosts ?? []))
const listensOf = (facts: readonly InstallFact[]): string[] => unique(facts.flatMap(({ listens }) => listens ?? []))
const namesOf = ({ components }: Pick<Contents, 'components'>): string[] =>
  unique(components.filter(({ presence }) => presence === 'shipped').map(({ purl }) => purl.replace(/@[^@/]*$/, '')))

/** Why what a version does is not known in full. */
const cutOf = ({ cut, install }: Compared): string | undefined =>
  cut ?? (install?.more === undefined ? undefined : `${install.more} further facts about installing it are not kept.`)

/** Compares what two versions of a package do when they are installed, and what they carry by name. */
export function changesBetween(before: Compared, after: Compared): InstallChanges {
  const [old, now] = [before.install, after.install]
  const [oldFacts, facts] = [old?.facts ?? [], now?.facts ?? []]
  const [oldScripts, scripts] = [old?.scripts ?? [], now?.scripts ?? []]
  const digests = new Map(oldScripts.map(({ name, sha256 }) => [name, sha256]))
  const cut = [...new Set([cutOf(after), cutOf(before)])].filter(one => one !== undefined).join(' ')
  return {
    facts: between(oldFacts, facts, keyOf),
    scripts: {
      ...between(
        oldScripts.map(({ name }) => name),
        scripts.map(({ name }) => name),
        self,
      ),
      changed: scripts.filter(one => (digests.get(one.name) ?? one.sha256) !== one.sha256).map(({ name }) => name),
    },
    hosts: between(hostsOf(oldFacts), hostsOf(facts), self),
    listens: between(listensOf(oldFacts), listensOf(facts), self),
    components: between(namesOf(before), namesOf(after), self),
    ...(cut === '' ? {} : { cut }),
  }
}

const MOST_SAID = 3
const MOST_HOSTS = 3

const some = (all: readonly string[]): string =>
  all.slice(0, MOST_HOSTS).join(', ') + (all.length > MOST_HOSTS ? ` and ${all.length - MOST_HOSTS} more` : '')

const MAY_BE_MORE = 'Not all of it could be read, so there may be more.'

/** What is new, in a sentence, and whether there may be more. A script whose new facts are told has another text. */
export function sayChanges({ facts, scripts, hosts, listens, cut }: InstallChanges): string {
  const named = [...new Set(facts.added.toSorted(byKind).map(nameFact))]
  const told = new Set(facts.added.map(({ path }) => path))
  const rewritten = scripts.changed.filter(name => !told.has(name))
  const parts = [
    ...named.slice(0, MOST_SAID),
    ...(named.length > MOST_SAID ? [`${named.length - MOST_SAID} more facts`] : []),
    ...(hosts.added.length === 0 ? [] : [`contacts ${some(hosts.added)}`]),
    ...(listens.added.length === 0 ? [] : [`listens on ${some(listens.added)}`]),
    ...(scripts.added.length === 0 ? [] : [`has ${some(scripts.added)}`]),
    ...(rewritten.length === 0 ? [] : [`another text of ${some(rewritten)}`]),
  ]
  const say = (sentence: string): string => (cut === undefined ? sentence : [sentence, MAY_BE_MORE].join(' '))
  if (parts.length > 0) return say(`New: ${parts.join('; ')}.`)
  const gone = facts.removed.length + scripts.removed.length + hosts.removed.length + listens.removed.length
  if (gone > 0) return say(gone === 1 ? 'Nothing new; 1 thing is gone.' : `Nothing new; ${gone} things are gone.`)
  return cut === undefined ? 'Installing it does nothing new.' : say('Nothing new was seen.')
}
