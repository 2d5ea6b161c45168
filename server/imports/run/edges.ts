import type { Format } from '../../formats/format.ts'
import { relationsIn, type Relations } from '../../formats/relations.ts'

/** A package whose needs are looked up among others. */
export interface Node {
  readonly name: string
  readonly version: string
  readonly relations: Relations
}

/**
 * For each package the places of those that meet one of its needs, each once, without itself. Where several of them
 * meet a need, all count.
 */
export function edgesOf(nodes: readonly Node[], format: Pick<Format, 'satisfies'>): number[][] {
  const offers = new Map<string, { readonly at: number; readonly version?: string }[]>()
  const offer = (name: string, at: number, version: string | undefined): void => {
    const list = offers.get(name) ?? []
    list.push({ at, ...(version === undefined ? {} : { version }) })
    offers.set(name, list)
  }
  for (const [at, { name, version, relations }] of nodes.entries()) {
    offer(name, at, version)
    for (const provided of relations.provides ?? []) offer(provided.name, at, provided.version)
    for (const file of relations.files ?? []) offer(file, at, undefined)
  }
  return nodes.map(({ relations: { depends = [], pre_depends = [] } }, own) => {
    const met = new Set<number>()
    for (const need of [...pre_depends, ...depends].flatMap(relationsIn))
      for (const { at, version } of offers.get(need.name) ?? [])
        if (at !== own && format.satisfies({ name: need.name, ...(version === undefined ? {} : { version }) }, need))
          met.add(at)
    return [...met].sort((a, b) => a - b)
  })
}
