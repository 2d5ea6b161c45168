import { INSTALL_FACTS, type InstallFact, type InstallFactKind } from '../core/install-facts.ts'
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

const MOST_SAID = 6

/** `new: usr/bin/x is a setuid program (mode 4755)`; those that a policy looks at first. */
function sayKinds(facts: readonly InstallFact[]): string[] {
  const byKind = Map.groupBy(facts, ({ kind }) => kind)
  const rank = (kind: InstallFactKind): number => Object.keys(INSTALL_FACTS).indexOf(kind)
  return [...byKind]
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([kind, some]) => {
      const [first] = some
      const more = some.length > 1 ? ` (and ${some.length - 1} more)` : ''
      return `${first?.path ?? ''} ${INSTALL_FACTS[kind].said}${more}`
    })
}

/** What is new, in one sentence. */
export function sayChanges({ facts, scripts, hosts, listens }: InstallChanges): string {
  const parts = [
    ...sayKinds(facts.added),
    ...(hosts.added.length === 0 ? [] : [`contacts ${hosts.added.slice(0, 3).join(', ')}`]),
    ...(listens.added.length === 0 ? [] : [`listens on ${listens.added.slice(0, 3).join(', ')}`]),
    ...(scripts.added.length === 0 ? [] : [`has ${scripts.added.join(', ')}`]),
  ]
  const more = parts.length > MOST_SAID ? `; and ${parts.length - MOST_SAID} more` : ''
  if (parts.length > 0) return `New: ${parts.slice(0, MOST_SAID).join('; ')}${more}.`
  const gone = facts.removed.length + scripts.removed.length
  return gone > 0 ? `Nothing new; ${gone} things are gone.` : 'Installing it does nothing new.'
}
