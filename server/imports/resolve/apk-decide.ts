import { compareVersions } from '../../formats/apk/version.ts'
import { isProvided, type Apk, type ApkName, type ApkNeed, type ApkOffer } from './apk-graph.ts'

/** What could not be decided well. */
export interface ApkFault {
  readonly name: ApkName
  /** The package that was chosen although something excludes it; none where nobody offers the name. */
  readonly apk?: Apk
}

/**
 * Whether apk takes it by itself: a name without a version is no choice, except with a priority or where the package is
 * needed by its own name. Checked against apk-tools 2.14 in apk.tool.test.ts.
 */
const isTakenAlone = ({ apk, version }: ApkOffer): boolean =>
  version !== undefined || (apk.candidate.relations.provider_priority ?? 0) > 0 || (apk.offers[0]?.name.needs ?? 0) > 0

function compareMaybe(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  return compareVersions(a, b)
}

/** Above 0 where apk prefers the first of two packages for a name. */
function prefer(a: ApkOffer, b: ApkOffer): number {
  const [x, y] = [a.apk, b.apk]
  const isSameName = x.candidate.name === y.candidate.name
  return (
    Number(x.isPossible) - Number(y.isPossible) ||
    Number(x.isOption) - Number(y.isOption) ||
    y.misses - x.misses ||
    Number(x.isPublished) - Number(y.isPublished) ||
    compareMaybe(a.version, b.version) ||
    (isSameName ? compareVersions(x.candidate.version, y.candidate.version) : 0) ||
    (x.candidate.relations.provider_priority ?? 0) - (y.candidate.relations.provider_priority ?? 0)
  )
}

/**
 * Chooses a package for every name that is needed, one after the other and without going back, as apk 2 does: what is
 * certain is followed first, and the name found last is decided next.
 */
export function decide(world: readonly ApkNeed[]): readonly ApkFault[] {
  const faults: ApkFault[] = []
  const changed = new Set<ApkName>()
  const waiting = new Set<ApkName>()

  const queue = (name: ApkName): void => {
    if (name.decided) return
    if (name.needs > 0 || name.found.reacts) waiting.add(name)
    else waiting.delete(name)
  }
  const touch = (names: Iterable<ApkName>): void => {
    for (const name of names) if (!name.decided) changed.add(name)
  }
  // apk looks at needs again only where something changed: one that nobody ever offered is found too late
  const doubtful = new Set<ApkName>()
  const doubt = (names: Iterable<ApkName>): void => {
    for (const name of names) doubtful.add(name)
    touch(names)
  }
  const ruleOut = (apk: Apk): void => {
    if (!apk.isPossible) return
    apk.isPossible = false
    for (const { name } of apk.offers) {
      doubt(name.neededBy)
      touch(name.reacting)
      touch([name])
    }
  }
  const wanted = (name: ApkName): void => {
    name.needs++
    if (name.needs > 1) return
    queue(name)
    touch(name.reacting)
    touch([name])
    // a package that is needed by name may be taken for names without a version, too
    for (const { apk } of name.offers) for (const offer of apk.offers) touch([offer.name])
  }
  const apply = (need: ApkNeed): void => {
    if (!need.isConflict) wanted(need.name)
    for (const offer of need.name.offers) {
      if (isProvided(need, offer)) continue
      offer.apk.misses++
      ruleOut(offer.apk)
    }
  }
  const canMeet = (need: ApkNeed): boolean => {
    const { name } = need
    if (name.decided) return isProvided(need, name.chosen)
    if (name.needs === 0 && isProvided(need, undefined)) return true
    return name.offers.some(offer => offer.apk.isPossible && isProvided(need, offer))
  }
  const react = (apk: Apk): void => {
    if (apk.reaction !== 'waits') return
    if (apk.reactsTo.some(need => need.name.decided && !isProvided(need, need.name.chosen))) apk.reaction = 'never'
    else if (apk.reactsTo.every(need => need.name.decided)) apk.reaction = 'comes'
  }

  /** Follows what all options of a name have in common. */
  const follow = (name: ApkName, options: readonly ApkOffer[]): void => {
    const [first, ...others] = options
    if (first === undefined) return
    for (const { apk } of name.offers) apk.isOption = options.some(one => one.apk === apk)
    for (const need of first.apk.needs) {
      if (need.isConflict) continue
      if (others.length === 0) apply(need)
      else if (need.name.needs === 0 && others.every(({ apk }) => apk.needs.some(one => one.name === need.name)))
        wanted(need.name)
    }
    for (const { name: common } of first.apk.offers) {
      if (common === name || common.decided) continue
      const shared = options.map(({ apk }) => apk.offers.find(one => one.name === common))
      if (shared.includes(undefined)) continue
      const isLoose = shared.some(one => one?.version === undefined)
      for (const { apk, version } of common.offers) {
        if (isLoose && version === undefined) continue
        if (!apk.offers.some(one => one.name === name || (isLoose && one.version === undefined))) ruleOut(apk)
      }
    }
  }
  const followed = new Set<Apk>()
  const reconsider = (name: ApkName): void => {
    const isDoubtful = doubtful.delete(name)
    for (const { apk } of name.offers) {
      if (isDoubtful && apk.isPossible && !apk.needs.every(canMeet)) ruleOut(apk)
      if (apk.isPossible) react(apk)
    }
    const possible = name.offers.filter(({ apk }) => apk.isPossible)
    const reacts = possible.some(({ apk }) => apk.reaction === 'comes')
    const options = name.needs > 0 ? possible : []
    name.found = { canChoose: reacts || options.some(isTakenAlone), hasOptions: options.length > 1, reacts }
    queue(name)
    const [only] = options
    if (options.length === 1 && only !== undefined) {
      if (followed.has(only.apk)) return
      followed.add(only.apk)
    }
    follow(name, options)
  }

  const assign = (name: ApkName, chosen: ApkOffer | undefined): void => {
    if (name.decided) {
      if (chosen?.version === undefined && name.chosen?.version === undefined) return
      if (name.chosen?.apk === chosen?.apk) return
      faults.push({ name, ...(chosen === undefined ? {} : { apk: chosen.apk }) })
      return
    }
    name.decided = true
    name.chosen = chosen
    waiting.delete(name)
    changed.delete(name)
    for (const { apk, version } of name.offers) {
      if (apk === chosen?.apk || (chosen !== undefined && chosen.version === undefined && version === undefined))
        continue
      ruleOut(apk)
    }
    doubt(name.neededBy)
    touch(name.reacting)
  }
  const select = (name: ApkName): void => {
    let best: ApkOffer | undefined
    for (const offer of name.offers) {
      const mayCome = name.needs > 0 || (offer.apk.reaction === 'comes' && offer.apk.isPossible)
      if (
        mayCome &&
        (isTakenAlone(offer) || offer.apk.reaction === 'comes') &&
        (best === undefined || prefer(offer, best) > 0)
      )
        best = offer
    }
    if (best === undefined) {
      assign(name, undefined)
      if (name.needs > 0) faults.push({ name })
      return
    }
    const { apk } = best
    if (!apk.isPossible) faults.push({ name, apk })
    for (const offer of apk.offers) assign(offer.name, { apk, version: offer.version })
    for (const need of apk.needs) apply(need)
  }
  /** What leaves no choice first; then what can be chosen at all, found last. */
  const next = (): ApkName | undefined => {
    let best: ApkName | undefined
    for (const name of waiting) {
      const { canChoose, hasOptions } = name.found
      if (name.needs > 0 && canChoose && !hasOptions && [...name.neededBy].every(one => one.decided || one.order === 0))
        return name
      if (
        best === undefined ||
        Number(canChoose) - Number(best.found.canChoose) > 0 ||
        (canChoose === best.found.canChoose && name.order > best.order)
      )
        best = name
    }
    return best
  }

  for (const need of world) apply(need)
  for (;;) {
    for (const name of changed) {
      changed.delete(name)
      reconsider(name)
    }
    const name = next()
    if (name === undefined) return faults
    select(name)
  }
}
