import { plural } from '../../show.ts'
import type { Reply } from '../../wire.ts'

export type Resolved = Reply<'GET /import/resolve/{name}'>
type Package = Resolved['packages'][number]
export type Unresolved = Resolved['unresolved'][number]
export type Conflict = Resolved['conflicts'][number]
export type ChangedUpstream = Resolved['upstream_changed'][number]

/** A line of the tree. Each package has one line, under the first that needs it. */
export interface Node {
  readonly key: string
  readonly name: string
  readonly version: string
  /** What becomes of it; `review` and `block` as the policy does for vulnerabilities that are known already. */
  readonly note: 'new' | 'review' | 'block' | 'here' | 'missing'
  readonly forecast: Package['forecast']
  /** Where it comes from, or why it is missing; empty where there is nothing to say. */
  readonly said: string
  /** Of it alone. */
  readonly bytes: number
  /** Of those below it. */
  readonly below: number
  readonly bytesBelow: number
  readonly children: readonly Node[]
}

/** What all that is in the basket brings. */
export interface Whole {
  readonly tree: readonly Node[]
  readonly coming: number
  readonly here: number
  readonly bytes: number
  readonly assumed: readonly string[]
  readonly unresolved: readonly Unresolved[]
  readonly conflicts: readonly Conflict[]
  /** Here with other bytes than their sources list for the same version. */
  readonly changed: readonly ChangedUpstream[]
  readonly forecast: Forecast | undefined
}

/** What the gate is going to hold, as far as that is known before the files are here. */
export interface Forecast {
  readonly review: number
  readonly block: number
  /** Nothing could be looked up: that is not the same as nothing held. */
  readonly isUnknown: boolean
  readonly message: string
}

const keyOf = ({ name, version, arch }: Pick<Package, 'name' | 'version' | 'arch'>): string =>
  `${name} ${version} ${arch}`
const unique = <T>(all: readonly T[], key: (one: T) => string): T[] => [
  ...new Map(all.map(one => [key(one), one])).values(),
]

/** Comes in, whether it is going to be held or not. */
const isComing = ({ note }: Pick<Node, 'note'>): boolean => note !== 'here' && note !== 'missing'
function noteOf({ already_in_repo: isHere, forecast }: Package): Node['note'] {
  if (isHere) return 'here'
  const action = forecast?.action
  return action === 'review' || action === 'block' ? action : 'new'
}

interface Drawing extends Omit<Node, 'children' | 'below' | 'bytesBelow'> {
  readonly children: Drawing[]
}

function weigh({ children, ...node }: Drawing): Node {
  const done = children.map(weigh)
  return {
    ...node,
    children: done,
    below: done.reduce((sum, one) => sum + one.below + (isComing(one) ? 1 : 0), 0),
    bytesBelow: done.reduce((sum, { bytes, bytesBelow }) => sum + bytes + bytesBelow, 0),
  }
}

/** Lines in breadth, so that each package stands as near to what was asked for as it can. */
function draw(packages: readonly Package[], needs: ReadonlyMap<string, readonly string[]>): Map<string, Drawing> {
  const byKey = new Map(packages.map(one => [keyOf(one), one]))
  const drawn = new Map<string, Drawing>()
  const lineOf = (one: Package): Drawing => {
    const line: Drawing = {
      key: keyOf(one),
      name: one.name,
      version: one.version,
      note: noteOf(one),
      forecast: one.forecast,
      said: one.source,
      bytes: one.already_in_repo ? 0 : one.size,
      children: [],
    }
    drawn.set(line.key, line)
    return line
  }
  const queue = packages.filter(({ is_root: isRoot, already_in_repo: isHere }) => isRoot && !isHere).map(lineOf)
  const roots = new Set(queue.map(({ key }) => key))
  for (let line = queue.shift(); line !== undefined; line = queue.shift())
    for (const key of needs.get(line.key) ?? []) {
      const one = byKey.get(key)
      if (one === undefined || drawn.has(key)) continue
      const child = lineOf(one)
      line.children.push(child)
      queue.push(child)
    }
  // what only a recommendation asks for has no edge
  const loose = packages.filter(one => !one.already_in_repo && !drawn.has(keyOf(one))).map(lineOf)
  return new Map(
    [...drawn].filter(([key]) => roots.has(key)).concat(loose.map(line => [line.key, line] as [string, Drawing])),
  )
}

function find(lines: Iterable<Drawing>, label: string): Drawing | undefined {
  for (const line of lines) {
    if (`${line.name} ${line.version}` === label || line.name === label) return line
    const below = find(line.children, label)
    if (below !== undefined) return below
  }
  return undefined
}

/** Joins what each of the basket brings: a package that two of them need comes once. */
export function joinClosures(all: readonly Resolved[]): Whole {
  const needs = new Map<string, readonly string[]>()
  const packages = new Map<string, Package>()
  for (const { packages: some } of all)
    for (const one of some) {
      const key = keyOf(one)
      const before = packages.get(key)
      packages.set(key, before?.is_root === true ? before : one)
      needs.set(
        key,
        one.needs.flatMap(at => (some[at] === undefined ? [] : keyOf(some[at]))),
      )
    }
  const list = [...packages.values()]
  const lines = draw(list, needs)
  const unresolved = unique(
    all.flatMap(one => one.unresolved),
    one => `${one.needed_by} ${one.group}`,
  )
  for (const { needed_by: by, group, reason } of unresolved)
    find(lines.values(), by)?.children.push({
      key: `${by} needs ${group}`,
      name: group,
      version: '',
      note: 'missing',
      forecast: null,
      said: reason,
      bytes: 0,
      children: [],
    })
  const coming = list.filter(one => !one.already_in_repo)
  const here = list.filter(one => one.already_in_repo)
  const tree = [...lines.values()].map(weigh)
  return {
    tree: here.length === 0 ? tree : [...tree, hereNode(here)],
    coming: coming.length,
    here: here.length,
    bytes: coming.reduce((sum, { size }) => sum + size, 0),
    assumed: [...new Set(all.flatMap(one => one.assumed.map(({ name, version }) => `${name} ${version}`)))].sort(),
    unresolved,
    conflicts: unique(
      all.flatMap(one => one.conflicts),
      one => `${one.package} ${one.excluded_by} ${one.relation}`,
    ),
    changed: unique(
      all.flatMap(one => one.upstream_changed),
      keyOf,
    ),
    forecast: all[0] && {
      review: coming.filter(one => one.forecast?.action === 'review').length,
      block: coming.filter(one => one.forecast?.action === 'block').length,
      isUnknown: coming.length > 0 && coming.every(one => one.forecast === null),
      message: all[0].forecast.message, // all are for one distribution
    },
  }
}

function hereNode(here: readonly Package[]): Node {
  const children = here.map((one): Node => ({
    key: keyOf(one),
    name: one.name,
    version: one.version,
    note: 'here',
    forecast: null,
    said: '',
    bytes: 0,
    below: 0,
    bytesBelow: 0,
    children: [],
  }))
  if (children.length === 1) return children[0] as Node // its only one
  const name = `${plural(here.length, ['# package', '# packages'])} here already`
  return {
    key: 'here',
    name,
    version: '',
    note: 'here',
    forecast: null,
    said: '',
    bytes: 0,
    below: 0,
    bytesBelow: 0,
    children,
  }
}

/** A visible line with its place, as a tree tells it to readers. Levels and positions count from 1. */
export interface Row {
  readonly node: Node
  readonly level: number
  readonly position: number
  readonly of: number
  readonly open: boolean
}

/** The lines that are seen while these are open. */
export function rowsOf(tree: readonly Node[], open: ReadonlySet<string>, level = 1): Row[] {
  return tree.flatMap((node, at) => {
    const isOpen = open.has(node.key)
    const row = { node, level, position: at + 1, of: tree.length, open: isOpen && node.children.length > 0 }
    return isOpen ? [row, ...rowsOf(node.children, open, level + 1)] : [row]
  })
}

const hasTrouble = ({ note, children }: Node): boolean =>
  note === 'missing' || note === 'review' || note === 'block' || children.some(hasTrouble)
const all = (nodes: readonly Node[]): Node[] => nodes.flatMap(node => [node, ...all(node.children)])

/** So many lines are seen at once without looking for one. */
export const SMALL = 40
/** What is open at first: a small tree whole; of a large one its top, and what leads to something missing or held. */
export function openAtFirst(tree: readonly Node[]): ReadonlySet<string> {
  const nodes = all(tree).filter(({ children, key }) => children.length > 0 && key !== 'here')
  const few = all(tree).length <= SMALL
  const top = tree.flatMap(({ children }) => children).length <= SMALL ? tree : []
  return new Set(nodes.filter(node => few || top.includes(node) || hasTrouble(node)).map(({ key }) => key))
}

/** Lines whose name has these letters, in the order of the tree. */
export function search(tree: readonly Node[], word: string): Row[] {
  const found = all(tree).filter(({ name, key }) => key !== 'here' && name.includes(word))
  return found.map((node, at) => ({ node, level: 1, position: at + 1, of: found.length, open: false }))
}

export const countAll = (tree: readonly Node[]): number => all(tree).length
/** Opens everything. */
export const allKeys = (tree: readonly Node[]): ReadonlySet<string> =>
  new Set(
    all(tree)
      .filter(({ children }) => children.length > 0)
      .map(({ key }) => key),
  )
