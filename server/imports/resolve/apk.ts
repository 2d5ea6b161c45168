import { compareVersions } from '../../formats/apk/version.ts'
import { decide, type ApkFault } from './apk-decide.ts'
import { createApkGraph, isProvided, type Apk, type ApkGraph, type ApkNeed } from './apk-graph.ts'
import type { Candidate, Clash, Closure, Question, Resolver, Root, Universe, Unresolved } from './closure.ts'
import { printNeed } from '../../formats/relations.ts'
import { unknownRoot } from './explain.ts'
import { label } from './rules.ts'
import { createUniverse } from './universe.ts'

/** One root with everything that the client would install for it. */
interface Solved {
  readonly root: Candidate | undefined
  /** Each after what it depends on. */
  readonly order: readonly Candidate[]
  readonly unresolved: readonly Unresolved[]
  readonly conflicts: readonly Clash[]
}

/** What could not be met for the packages that come. */
function complaintsOf(coming: readonly Apk[], faults: readonly ApkFault[]): Pick<Solved, 'unresolved' | 'conflicts'> {
  const unresolved: Unresolved[] = []
  const there = new Set(coming)
  const conflicts = faults.flatMap(({ name, apk }): Clash[] => {
    const other = name.chosen?.apk
    if (apk === undefined || other === undefined || other === apk || !there.has(apk) || !there.has(other)) return []
    const [one, by] = [label(apk.candidate), label(other.candidate)]
    return [{ package: one, excluded_by: by, relation: `both have the name ${name.name}` }]
  })
  for (const { candidate, needs } of coming) {
    for (const need of needs) {
      const { chosen, offers } = need.name
      const other = chosen !== undefined && there.has(chosen.apk) ? chosen : undefined
      if (isProvided(need, other)) continue
      const group = `${need.isConflict ? '!' : ''}${printNeed(need.relation)}`
      if (need.isConflict && other !== undefined) {
        const clash = { package: label(other.apk.candidate), excluded_by: label(candidate), relation: group }
        conflicts.push(clash)
        continue
      }
      unresolved.push({ needed_by: label(candidate), group, reason: reasonOf(need, offers.length > 0) })
    }
  }
  return { unresolved, conflicts }
}

function reasonOf(need: ApkNeed, isOffered: boolean): string {
  const { name, relation } = need
  const fitting = name.offers.filter(offer => isProvided(need, offer))
  if (!isOffered) return 'No enabled source has a package that meets it.'
  const versions = [...new Set(name.offers.map(({ version }) => version ?? 'none'))].slice(0, 3).join(', ')
  if (fitting.length === 0) return `${relation.name} is there in version ${versions}, which does not meet it.`
  const names = [...new Set(fitting.map(({ apk }) => apk.candidate.name))].slice(0, 3).join(', ')
  return fitting.every(({ version }) => version === undefined)
    ? `Only ${names} provides it, without a version: apk takes none of those by itself.`
    : `What offers it (${names}) is excluded by something else that is needed, or lacks something itself.`
}

/** Packages reached from a root, each after what it depends on; what reacts to them follows. */
function reach(root: Apk, graph: ApkGraph): Apk[] {
  const order: Apk[] = []
  const seen = new Set<Apk>()
  const needed = (apk: Apk): Apk[] =>
    apk.needs
      .filter(need => !need.isConflict)
      .flatMap(({ name }) => (name.chosen === undefined ? [] : [name.chosen.apk]))
  const walk = (from: Apk): void => {
    if (seen.has(from)) return
    seen.add(from)
    const stack = [{ apk: from, rest: needed(from).values() }]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.rest.next()
      if (next.done === true) {
        order.push(top.apk)
        stack.pop()
      } else if (!seen.has(next.value)) {
        seen.add(next.value)
        stack.push({ apk: next.value, rest: needed(next.value).values() })
      }
    }
  }
  walk(root)
  // the list grows while it is gone through: what reacts may make others react
  for (const apk of order)
    for (const { name } of apk.offers)
      for (const reacting of name.reacting) {
        const coming = graph.name(reacting.name).chosen?.apk
        if (coming?.reaction === 'comes') walk(coming)
      }
  return order
}

function solveRoot(asked: Root, universe: Universe, published: Universe, question: Question): Solved | undefined {
  const fits = ({ arch }: Candidate): boolean => arch === question.arch || arch === 'noarch'
  const graph = createApkGraph({ universe, published }, fits)
  const { name, version } = asked
  const isAsked = (one: Candidate): boolean =>
    fits(one) && (version === undefined || compareVersions(one.version, version) === 0)
  const isThere = [universe, published].some(
    side => side.named(name).some(isAsked) || (version === undefined && side.offering(name).some(fits)),
  )
  if (!isThere) return undefined
  const exact = (one: { readonly name: string; readonly version: string }): ApkNeed => graph.need({ ...one, op: '=' })
  // what is asked for by name is wanted here in its version, also where machines have another one
  const base = question.base.filter(one => one.name !== name).map(exact)
  const wish = version === undefined ? graph.need({ name }) : exact({ name, version })
  const world = [...base, wish].sort((a, b) => (a.name.name < b.name.name ? -1 : 1))
  graph.discover(world.map(need => need.name))
  const faults = decide(world)
  const { chosen } = wish.name
  if (chosen === undefined || !isProvided(wish, chosen))
    return {
      root: undefined,
      order: [],
      conflicts: [],
      unresolved: [{ needed_by: name, group: printNeed(wish.relation), reason: reasonOf(wish, true) }],
    }
  const coming = reach(chosen.apk, graph)
  return {
    root: chosen.apk.candidate,
    order: coming.map(({ candidate }) => candidate),
    ...complaintsOf(coming, faults),
  }
}

function resolve(universe: Universe, question: Question): Closure {
  const packages = new Set<Candidate>()
  const assumed = new Set<Candidate>()
  const roots: { asked: Root; package?: Candidate }[] = []
  const unresolved: Unresolved[] = []
  const conflicts: Clash[] = []
  const there = new Set(question.published.map(({ id }) => id))
  for (const asked of question.roots) {
    const published = createUniverse([...question.published, ...packages], compareVersions)
    const solved = solveRoot(asked, universe, published, question)
    if (solved === undefined) {
      roots.push({ asked })
      unresolved.push(unknownRoot(asked, universe))
      continue
    }
    const { root, order } = solved
    roots.push({ asked, ...(root === undefined ? {} : { package: root }) })
    unresolved.push(...solved.unresolved)
    conflicts.push(...solved.conflicts)
    const base = new Set(question.base.filter(({ name }) => name !== asked.name).map(label))
    for (const one of order) {
      const isAssumed = base.has(label(one)) || there.has(one.id) || (question.onlyRoots === true && one !== root)
      if (isAssumed) assumed.add(one)
      else packages.add(one)
    }
  }
  return {
    roots,
    packages: [...packages],
    assumed: [...assumed],
    unresolved,
    conflicts,
    satisfied: unresolved.length === 0 && conflicts.length === 0,
  }
}

/** APK packages: the client goes from name to name and never back, so what is imported must resolve for it that way. */
export const apkResolver: Resolver = {
  base: { names: ['alpine-base'], essential: false, priorities: [] },
  resolve,
}
