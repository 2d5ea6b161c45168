import { foundUnder } from '../../formats/relations.ts'
import type { Candidate, Universe } from './closure.ts'

const byName = (a: Candidate, b: Candidate): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** Packages in memory, found by name and by what they offer. Equal versions stay in the order they come in. */
export function createUniverse(
  candidates: Iterable<Candidate>,
  compareVersions: (a: string, b: string) => number,
): Universe {
  const names = new Map<string, Candidate[]>()
  const offered = new Map<string, Candidate[]>()
  const add = (to: Map<string, Candidate[]>, key: string, one: Candidate): void => {
    const list = to.get(key)
    if (list === undefined) to.set(key, [one])
    else list.push(one)
  }
  for (const one of candidates) {
    add(names, one.name, one)
    add(offered, one.name, one)
    for (const name of foundUnder(one.relations)) if (name !== one.name) add(offered, name, one)
  }
  const newestFirst = (a: Candidate, b: Candidate): number => compareVersions(b.version, a.version)
  const sorted = new Set<Candidate[]>()
  const inOrder = (list: Candidate[] | undefined, order: (a: Candidate, b: Candidate) => number): Candidate[] => {
    if (list === undefined) return []
    if (list.length > 1 && !sorted.has(list)) {
      list.sort(order)
      sorted.add(list)
    }
    return list
  }
  return {
    named: name => inOrder(names.get(name), newestFirst),
    offering: name => inOrder(offered.get(name), (a, b) => byName(a, b) || newestFirst(a, b)),
  }
}
