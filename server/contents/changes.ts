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
}

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

/** Compares what two versions of a package do when they are installed, and what they carry by name. */
export function changesBetween(
  before: Pick<Contents, 'install' | 'components'>,
  after: Pick<Contents, 'install' | 'components'>,
): InstallChanges {
  const [old, now] = [before.install, after.install]
  const [oldFacts, facts] = [old?.facts ?? [], now?.facts ?? []]
  const [oldScripts, scripts] = [old?.scripts ?? [], now?.scripts ?? []]
  const digests = new Map(oldScripts.map(({ name, sha256 }) => [name, sha256]))
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
  }
}

const MOST_SAID = 3
const MOST_HOSTS = 3

const some = (all: readonly string[]): string =>
  all.slice(0, MOST_HOSTS).join(', ') + (all.length > MOST_HOSTS ? ` and ${all.length - MOST_HOSTS} more` : '')

/** What is new, in one sentence. */
export function sayChanges({ facts, scripts, hosts, listens }: InstallChanges): string {
  const named = [...new Set(facts.added.toSorted(byKind).map(nameFact))]
  const parts = [
    ...named.slice(0, MOST_SAID),
    ...(named.length > MOST_SAID ? [`${named.length - MOST_SAID} more facts`] : []),
    ...(hosts.added.length === 0 ? [] : [`contacts ${some(hosts.added)}`]),
    ...(listens.added.length === 0 ? [] : [`listens on ${some(listens.added)}`]),
    ...(scripts.added.length === 0 ? [] : [`has ${some(scripts.added)}`]),
  ]
  if (parts.length > 0) return `New: ${parts.join('; ')}.`
  const gone = facts.removed.length + scripts.removed.length
  if (gone === 0) return 'Installing it does nothing new.'
  return `Nothing new; ${gone === 1 ? '1 thing is' : `${gone} things are`} gone.`
}
