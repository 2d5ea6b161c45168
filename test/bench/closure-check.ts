import { compareVersions } from '../../server/formats/deb/version.ts'

/**
 * Whether packages can be installed together, read from their stanzas and sharing nothing with resolution but the order
 * of versions.
 */
export interface Stanza {
  readonly name: string
  readonly version: string
  readonly text: string
}

const field = (text: string, name: string): string =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\n[ \\t].*)*)`, 'm').exec(text)?.[1] ?? ''

export function stanzasOf(index: string): Stanza[] {
  return index
    .split('\n\n')
    .filter(text => text.trim() !== '')
    .map(text => ({ name: field(text, 'Package'), version: field(text, 'Version'), text }))
}

interface Relation {
  readonly name: string
  readonly arch: string | undefined
  readonly op: string | undefined
  readonly version: string | undefined
}

function relations(text: string): Relation[][] {
  return text
    .split(',')
    .map(group => group.trim())
    .filter(group => group !== '')
    .map(group =>
      group.split('|').map(one => {
        const [, name = '', arch, op, version] =
          /^\s*([^\s:(]+)(?::([a-z0-9-]+))?\s*(?:\(\s*(<<|<=|=|>=|>>|<|>)?\s*([^\s)]+)\s*\))?\s*$/.exec(one) ?? []
        return { name, arch, op, version }
      }),
    )
}

function holds(have: string, op = '=', need: string): boolean {
  const order = compareVersions(have, need)
  if (op === '<<') return order < 0
  if (op === '>>') return order > 0
  if (op === '=') return order === 0
  return op.startsWith('<') ? order <= 0 : order >= 0
}

function meets({ name, version, text }: Stanza, need: Relation): boolean {
  if (need.arch === 'any' && field(text, 'Multi-Arch') !== 'allowed') return false
  if (need.arch !== undefined && !['any', 'native', 'amd64', 'all'].includes(need.arch)) return false
  const own = { name, version: version as string | undefined }
  const provided = relations(field(text, 'Provides')).flat()
  return [own, ...provided].some(
    have =>
      have.name === need.name &&
      (need.version === undefined || (have.version !== undefined && holds(have.version, need.op, need.version))),
  )
}

/** What is wrong with these packages as the only ones of a machine; nothing when they can be installed. */
export function problemsOf(packages: readonly Stanza[]): string[] {
  const problems: string[] = []
  const names = new Set<string>()
  const offered = new Map<string, Stanza[]>()
  for (const one of packages) {
    if (names.has(one.name)) problems.push(`${one.name} is there twice`)
    names.add(one.name)
    for (const { name } of [...relations(field(one.text, 'Provides')).flat(), { name: one.name }])
      offered.set(name, [...(offered.get(name) ?? []), one])
  }
  const meeting = (need: Relation, not?: Stanza): Stanza | undefined =>
    offered.get(need.name)?.find(one => one !== not && meets(one, need))
  for (const one of packages) {
    for (const name of ['Pre-Depends', 'Depends'])
      for (const group of relations(field(one.text, name)))
        if (!group.some(need => meeting(need) !== undefined))
          problems.push(`${one.name} ${name}: ${group.map(need => need.name).join(' | ')}`)
    for (const name of ['Conflicts', 'Breaks'])
      for (const need of relations(field(one.text, name)).flat()) {
        const hit = meeting(need, one)
        if (hit !== undefined) problems.push(`${one.name} ${name}: ${hit.name}`)
      }
  }
  return problems
}
