import { fail } from '../../core/errors.ts'
import type { TreePlace, UpstreamReader, UpstreamTree } from '../upstream.ts'

/** A suite of a pooled repository. */
interface Suite {
  readonly base: string
  readonly suite: string
  readonly release: string
}

/** Of one suite, what its Release lists: one for each component, of the architectures that are taken. */
function placesOf({ base, suite, release }: Suite, text: string, takes: readonly string[]): TreePlace[] {
  const named = new Map<string, Set<string>>()
  for (const [, component = '', arch = ''] of text.matchAll(/ (\S+)\/binary-([^/\s]+)\/Packages(?:\.\w+)?$/gm))
    if (takes.includes(arch)) named.set(component, (named.get(component) ?? new Set()).add(arch))
  return [...named].map(([component, archs]) => ({
    name: `${release} (${component})`,
    base,
    place: { suite, components: [component], archs: [...archs] },
    component,
  }))
}

/** Not those of one architecture: `dists/bookworm/main/binary-amd64/Release`. */
function suitesIn({ paths }: UpstreamTree): Suite[] {
  const suites = new Map<string, Suite>()
  for (const path of paths) {
    const [, base = '', suite] = /^((?:.*\/)?)dists\/(.+)\/(?:In)?Release$/.exec(path) ?? []
    if (suite !== undefined && !/\/(?:binary-[^/]+|source)$/.test(suite))
      suites.set(`${base} ${suite}`, { base, suite, release: path })
  }
  return [...suites.values()]
}

/** A flat repository has its Release beside its Packages. Its paths count from its own folder. */
function flatIn({ paths }: UpstreamTree): TreePlace[] {
  const bases = new Set(paths.flatMap(path => /^((?:.*\/)?)(?:In)?Release$/.exec(path)?.[1] ?? []))
  return [...bases]
    .filter(base => paths.some(path => path.startsWith(`${base}Packages`)))
    .map(base => ({ name: `${base}Release`, base, place: { suite: './' } }))
}

/** The suite that is asked for, that of the codename, or the only one. @throws adopt_which_suite */
export const debPlaces: UpstreamReader['places'] = (tree, { codename, archs, neutral, suite: wanted }) => {
  const suites = suitesIn(tree)
  if (suites.length === 0) return flatIn(tree)
  const chosen =
    suites.find(({ suite }) => suite === (wanted ?? codename)) ??
    (wanted === undefined && suites.length === 1 ? suites[0] : undefined)
  return chosen === undefined
    ? fail('adopt_which_suite', { suites: suites.map(({ suite }) => suite).join(', ') })
    : placesOf(chosen, tree.read(chosen.release), [...archs, ...neutral])
}
