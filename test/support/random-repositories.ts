import type { Random } from './random.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
const VIRTUAL = ['v', 'w', 'x']
const FILES = ['/usr/bin/one', '/usr/bin/two']
const VERSIONS = ['1', '2', '3']
const RELEASES = ['1', '2']

/** So many of them, or one less, and so on. */
const some = <T>(random: Random, most: number, make: () => T): T[] =>
  Array.from({ length: random.below(most + 1) }, make)
const rarely = (random: Random, oneOf: number): boolean => random.below(oneOf) === 0

/** Packages of which several may have a name: each name and version once. */
function packagesOf(random: Random, versionOf: () => string, fieldsOf: (name: string) => readonly string[]): string[] {
  const packages = new Map<string, string>()
  for (const name of NAMES)
    for (let versions = rarely(random, 4) ? 2 : 1; versions > 0; versions--) {
      const head = `${name} ${versionOf()}`
      packages.set(head, [head, ...fieldsOf(name)].join('; '))
    }
  return [...packages.values()]
}

const field = (label: string, list: readonly string[], sign: string): string[] =>
  list.length === 0 ? [] : [`${label}: ${[...new Set(list)].join(sign)}`]

/** A small repository of RPM packages with every kind of relation, as `RPM_CASES` writes them. */
export function randomRpms(random: Random): readonly string[] {
  const version = (): string => random.pick(VERSIONS)
  const bounded = (): string => {
    const name = random.pick([...NAMES, ...NAMES, ...VIRTUAL, ...VIRTUAL, ...FILES])
    if (name.startsWith('/') || random.below(3) > 0) return name
    const release = rarely(random, 3) ? `-${random.pick(RELEASES)}` : ''
    return `${name} ${random.pick(['<', '<=', '=', '>=', '>'])} ${version()}${release}`
  }
  const plain = (): string => random.pick([...NAMES, ...VIRTUAL])
  // a condition is a plain name: libsolv and rpm do not agree on what conditions in conditions mean
  const rich = (depth: number): string => {
    const part = (): string => (depth < 2 && rarely(random, 4) ? rich(depth + 1) : bounded())
    switch (random.pick(['or', 'or', 'and', 'if', 'else', 'unless', 'with', 'without'])) {
      case 'or':
        return `(${part()} or ${part()}${rarely(random, 3) ? ` or ${part()}` : ''})`
      case 'and':
        return `(${part()} and ${part()})`
      case 'if':
        return `(${part()} if ${bounded()})`
      case 'else':
        return `(${part()} if ${bounded()} else ${part()})`
      case 'unless':
        return `(${part()} unless ${bounded()})`
      case 'with': {
        const name = plain()
        return `(${name} >= 1 with ${name} < ${version()})`
      }
      default:
        return `(${plain()} without ${plain()})`
    }
  }
  const need = (): string => (rarely(random, 4) ? rich(0) : bounded())
  const provide = (): string => {
    const name = random.pick(rarely(random, 4) ? NAMES : VIRTUAL)
    return rarely(random, 2) ? name : `${name} = ${version()}`
  }
  return packagesOf(
    random,
    () => `${rarely(random, 8) ? '1:' : ''}${version()}-${random.pick(RELEASES)}`,
    () => [
      ...field('Requires', some(random, 3, need), ', '),
      ...field('Provides', some(random, 2, provide), ', '),
      ...(rarely(random, 4)
        ? field(
            'Conflicts',
            [rarely(random, 4) ? `(${bounded()} ${random.pick(['and', 'or'])} ${bounded()})` : bounded()],
            ', ',
          )
        : []),
      ...(rarely(random, 8) ? field('Obsoletes', [`${random.pick(NAMES)} < ${version()}`], ', ') : []),
      ...(rarely(random, 6) ? field('Recommends', some(random, 2, need), ', ') : []),
      ...(rarely(random, 5) ? field('Files', [random.pick(FILES)], ', ') : []),
      ...(rarely(random, 5) ? ['Arch: noarch'] : []),
    ],
  )
}

/** A small repository of APK packages with every kind of relation, as `APK_CASES` writes them; none is about itself. */
export function randomApks(random: Random): readonly string[] {
  const version = (): string => random.pick(VERSIONS)
  const other = (name: string, names: readonly string[]): string => random.pick(names.filter(one => one !== name))
  const need = (of: string): string => {
    const name = other(of, [...NAMES, ...NAMES, ...VIRTUAL])
    const no = rarely(random, 10) ? '!' : ''
    if (random.below(3) > 0) return `${no}${name}`
    const release = rarely(random, 2) ? `-r${random.below(2)}` : ''
    return `${no}${name}${random.pick(['=', '<', '>', '>=', '<=', '~'])}${version()}${release}`
  }
  const provide = (of: string): string => {
    const name = other(of, rarely(random, 6) ? NAMES : VIRTUAL)
    return rarely(random, 3) ? name : `${name}=${version()}`
  }
  return packagesOf(
    random,
    () => `${version()}-r${random.below(2)}`,
    of => [
      ...field(
        'D',
        some(random, 3, () => need(of)),
        ' ',
      ),
      ...field(
        'p',
        some(random, 1, () => provide(of)),
        ' ',
      ),
      ...(rarely(random, 8) ? field('i', [other(of, NAMES), other(of, NAMES)], ' ') : []),
      ...(rarely(random, 4) ? [`k: ${1 + random.below(30)}`] : []),
    ],
  )
}
