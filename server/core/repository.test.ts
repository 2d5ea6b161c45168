import { expect, test } from 'vitest'
import { DEFAULT_DISTRIBUTIONS } from './default-distributions.ts'
import type { Codename } from './identity.ts'
import { createRepositories, type Distribution } from './repository.ts'

const [jammy] = DEFAULT_DISTRIBUTIONS as readonly [Distribution]
const ours: Distribution = {
  ...jammy,
  ...{ kind: 'registry', registry: { kind: 'hosted' }, codename: 'ours' as Codename, format: 'npm' },
  ...{ archs: [], neutral: [], scanner: undefined, builtin: false },
}
const names = (all: readonly Distribution[]): readonly string[] => all.map(({ codename }) => codename)

test('a registry is found among all repositories, and is like one that never was among those with a tree', () => {
  const repositories = createRepositories([jammy])
  repositories.replace([ours])
  expect(names(repositories.all())).toEqual(['jammy', 'ours'])
  expect(names(repositories.registries())).toEqual(['ours'])
  expect(repositories.need('ours')).toBe(ours)
  const { trees } = repositories
  expect([names(trees.all()), names(trees.registries()), trees.find('ours')]).toEqual([['jammy'], [], undefined])
  expect(() => trees.get('ours')).toThrow('There is no distribution ours. There are: jammy.')
  expect(() => trees.trees.need('ours')).toThrow('There is no distribution ours.')
})

test('a hidden registry is not there for its viewer, with trees or without', () => {
  const repositories = createRepositories([jammy])
  repositories.replace([ours])
  const seen = repositories.seenBy({ hidden: ['ours'] })
  expect([names(seen.registries()), seen.find('ours')]).toEqual([[], undefined])
  expect(names(repositories.trees.seenBy({ hidden: ['jammy'] }).all())).toEqual([])
  expect(names(repositories.seenBy({ hidden: ['jammy'] }).all())).toEqual(['ours'])
})
