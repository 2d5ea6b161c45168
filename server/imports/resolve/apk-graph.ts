import type { Relation } from '../../core/relation.ts'
import { satisfies } from '../../formats/apk/relation.ts'
import { reactsTo, relationsIn, type Need } from '../../formats/relations.ts'
import type { Candidate, Universe } from './closure.ts'

/** A relation with the name it is about. */
export interface ApkNeed {
  readonly name: ApkName
  readonly relation: Relation
  /** `!name` */
  readonly isConflict: boolean
}

/** A package that has a name, or provides it: with a version, or without. */
export interface ApkOffer {
  readonly apk: Apk
  readonly version: string | undefined
}

/** A package, and what is known of it so far. */
export interface Apk {
  readonly candidate: Candidate
  /** Preferred as one that is installed is. */
  readonly isPublished: boolean
  needs: readonly ApkNeed[]
  reactsTo: readonly ApkNeed[]
  /** Its own name first. */
  offers: readonly { readonly name: ApkName; readonly version: string | undefined }[]
  /** False once something that is decided excludes it. */
  isPossible: boolean
  /** How many needs that are decided it does not meet. */
  misses: number
  /** Whether its name came up the last time that options were compared. */
  isOption: boolean
  reaction: 'waits' | 'comes' | 'never'
}

/** A name that packages have or provide. One package at most is chosen for it. */
export interface ApkName {
  readonly name: string
  offers: readonly ApkOffer[]
  /** Names of packages that need it. */
  readonly neededBy: Set<ApkName>
  /** Names of packages that react to it. */
  readonly reacting: Set<ApkName>
  /** Names are found after those that their packages need. */
  order: number
  needs: number
  decided: boolean
  chosen: ApkOffer | undefined
  /** What the last comparison of its options found. */
  found: { readonly canChoose: boolean; readonly hasOptions: boolean; readonly reacts: boolean }
}

/** Whether an offer, or none, is in order with a relation. */
export function isProvided({ relation, isConflict }: ApkNeed, offer: ApkOffer | undefined): boolean {
  if (offer === undefined) return isConflict
  const have = { name: relation.name, ...(offer.version === undefined ? {} : { version: offer.version }) }
  return satisfies(have, relation) !== isConflict
}

/** Every name and package that a question can touch. */
export interface ApkGraph {
  name(name: string): ApkName
  need(relation: Relation, isConflict?: boolean): ApkNeed
  /** Finds what packages of these names need and what reacts to them, all the way down. */
  discover(names: readonly ApkName[]): void
}

/** @param fits whether machines install it */
export function createApkGraph(
  sides: { readonly universe: Universe; readonly published: Universe },
  fits: (candidate: Candidate) => boolean,
): ApkGraph {
  const names = new Map<string, ApkName>()
  const apks = new Map<Candidate, Apk>()
  let order = 0

  const name = (text: string): ApkName => {
    const known = names.get(text)
    if (known !== undefined) return known
    const found = { canChoose: false, hasOptions: false, reacts: false }
    const state = { order: 0, needs: 0, decided: false, chosen: undefined, found }
    const made: ApkName = { name: text, offers: [], neededBy: new Set(), reacting: new Set(), ...state }
    names.set(text, made)
    return made
  }
  const need = (relation: Relation, isConflict = false): ApkNeed => ({
    name: name(relation.name),
    relation,
    isConflict,
  })
  const needsOf = (list: readonly Need[] | readonly Relation[] | undefined, isConflict: boolean): ApkNeed[] =>
    (list ?? []).flatMap(one => relationsIn(one).map(relation => need(relation, isConflict)))

  const apkOf = (candidate: Candidate, isPublished: boolean): Apk => {
    const known = apks.get(candidate)
    if (known !== undefined) return known
    const { depends, conflicts, provides = [], install_if = [], install_unless } = candidate.relations
    const apk: Apk = {
      candidate,
      isPublished,
      needs: [...needsOf(depends, false), ...needsOf(conflicts, true)],
      reactsTo: install_if.length === 0 ? [] : [...needsOf(install_if, false), ...needsOf(install_unless, true)],
      offers: [candidate, ...provides].map(one => ({ name: name(one.name), version: one.version })),
      isPossible: true,
      misses: 0,
      isOption: false,
      reaction: install_if.length === 0 ? 'never' : 'waits',
    }
    apks.set(candidate, apk)
    for (const { name: needed } of apk.needs) for (const offer of apk.offers) needed.neededBy.add(offer.name)
    for (const { name: cause } of apk.reactsTo) for (const offer of apk.offers) cause.reacting.add(offer.name)
    return apk
  }
  const offersOf = (text: string): ApkOffer[] => {
    const here = sides.published.offering(text).map(one => [one, true] as const)
    const there = sides.universe.offering(text).map(one => [one, false] as const)
    return [...here, ...there]
      .filter(([one]) => fits(one))
      .flatMap(([one, isPublished]) => {
        const apk = apkOf(one, isPublished)
        const offer = apk.offers.find(other => other.name.name === text)
        return offer === undefined ? [] : [{ apk, version: offer.version }]
      })
  }
  const reactingTo = (text: string): ApkName[] =>
    sides.universe
      .offering(reactsTo(text))
      .filter(fits)
      .map(one => apkOf(one, false).offers[0]?.name)
      .filter(one => one !== undefined)

  /** What must be found before this name is. */
  function* below(of: ApkName): Generator<ApkName> {
    for (const { apk } of of.offers) for (const { name: needed } of apk.needs) yield needed
    for (const { apk } of of.offers) {
      for (const offer of apk.offers) {
        yield* reactingTo(offer.name.name)
        yield offer.name
      }
    }
  }
  return {
    name,
    need,
    discover(from) {
      const seen = new Set<ApkName>()
      const enter = (of: ApkName): { readonly of: ApkName; readonly rest: Generator<ApkName> } => {
        seen.add(of)
        of.offers = offersOf(of.name)
        return { of, rest: below(of) }
      }
      for (const root of from) {
        if (seen.has(root)) continue
        const stack = [enter(root)]
        for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
          const next = top.rest.next()
          if (next.done === true) {
            top.of.order = ++order
            stack.pop()
          } else if (!seen.has(next.value)) stack.push(enter(next.value))
        }
      }
    },
  }
}
