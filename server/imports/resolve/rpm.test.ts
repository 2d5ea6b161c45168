import { describe, expect, test } from 'vitest'
import { RPM_CASES, rpmSpec } from '../../../test/support/closure-cases-rpm.ts'
import type { RelationOp } from '../../core/relation.ts'
import type { RpmDependency } from '../../formats/rpm/facts.ts'
import { relationsOf } from '../../formats/rpm/index-relations.ts'
import { compareVersions, parseBound } from '../../formats/rpm/version.ts'
import type { Candidate, Closure } from './closure.ts'
import { gather, rowsIn } from './prefetch.ts'
import { rpmResolver } from './rpm.ts'
import { createUniverse } from './universe.ts'

function dependency(text: string): RpmDependency {
  const [, name = text, op, bound = ''] = /^([^(\s]\S*) (<=|>=|<|>|=) (\S+)$/.exec(text) ?? []
  return { name, ...(op === undefined ? {} : { op: op as RelationOp, evr: parseBound(bound) }) }
}

function read(text: string, id: number): Candidate {
  const { name, epoch, version, release, arch, ...spec } = rpmSpec(text)
  const evr = `${epoch === undefined ? '' : `${epoch}:`}${version}-${release}`
  const list = (of: readonly string[] = []): RpmDependency[] => of.map(dependency)
  const lists = {
    'rpm:provides': list(spec.provides),
    'rpm:requires': list(spec.requires),
    'rpm:conflicts': list(spec.conflicts),
    'rpm:obsoletes': list(spec.obsoletes),
    'rpm:recommends': list(spec.recommends),
    'rpm:supplements': list(spec.supplements),
  }
  const files = Object.keys(spec.files ?? {})
    .map(path => `/${path}`)
    .filter(path => path.includes('bin/'))
  const relations = relationsOf({ lists, files }, { name, version: evr })
  return { id, name, version: evr, arch, size: 1000, sourceKey: 's', relations }
}

async function resolve(packages: readonly string[], root: string, recommends = false): Promise<Closure> {
  const whole = createUniverse(packages.map(read), compareVersions)
  const { universe } = await gather(
    { upstream: rowsIn(whole), published: () => Promise.resolve([]) },
    { roots: [{ name: root }], recommends },
    compareVersions,
  )
  return rpmResolver.resolve(universe, { roots: [{ name: root }], arch: 'x86_64', base: [], published: [], recommends })
}

describe('as dnf does: rpm.tool.test.ts asks it about the same repositories', () => {
  test.each(RPM_CASES)('$rule', async ({ packages, root, recommends, closure }) => {
    const found = await resolve(packages, root, recommends)
    expect(found.satisfied).toBe(closure !== undefined)
    if (closure === undefined) return
    const got = found.packages.flatMap(({ name, version }) => (closure.includes(name) ? name : `${name} ${version}`))
    expect(got.sort()).toEqual(closure)
  })
})

describe('what cannot be met is told', () => {
  test('an expression as its index writes it', async () => {
    const found = await resolve(['a 1-1; Requires: (b >= 2 if c else d), c', 'b 1-1', 'c 1-1'], 'a')
    expect(found.unresolved).toMatchObject([{ needed_by: 'a 1-1', group: '(b (>= 2) if c else d)' }])
  })
  test('a file that no index lists, with what indexes list', async () => {
    const found = await resolve(['a 1-1; Requires: /usr/share/x'], 'a')
    expect(found.unresolved[0]?.reason).toBe(
      'No enabled source lists this file. Indexes list those in bin folders and /etc alone, so a package may have it.',
    )
  })
})
