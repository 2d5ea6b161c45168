import { expect, test } from 'vitest'
import { createRepositories, type Distribution } from '../../core/repository.ts'
import { DISTRIBUTIONS } from '../../../test/support/repositories.ts'
import { createOpenViewer, createPublicViewer } from './public-viewer.ts'

const [jammy] = DISTRIBUTIONS as readonly [Distribution]
const ACME = { ...jammy, codename: 'acme' as Distribution['codename'], builtin: false }
const authenticate = () => Promise.reject(new Error('nobody is signed in'))

test('while access rules cannot be read, a public report names no distribution', async () => {
  const repositories = createRepositories([jammy])
  const viewer = createPublicViewer({
    authenticate,
    hiddenFrom: () => Promise.reject(new Error('the database is gone')),
    repositories,
  })
  repositories.replace([ACME])
  expect(await viewer(undefined)).toEqual({ hidden: ['jammy', 'acme'] })
})

test.each([
  ['reader', false],
  ['auditor', true],
  ['uploader', false],
  ['maintainer', true],
  ['admin', true],
] as const)('a report shows facts of the machine to the role %s: %s', async (role, sees) => {
  const viewer = createPublicViewer({
    authenticate: async () => ({ kind: 'user', name: 'ada', role, credential: 'c' }),
    hiddenFrom: async () => [],
    repositories: createRepositories([jammy]),
  })
  expect(await viewer('Bearer x')).toEqual(sees ? { hidden: [], seesMachine: true } : { hidden: [] })
  expect(await viewer(undefined)).toEqual({ hidden: [] })
})

test('public metrics count what everybody may see, and fail while that is not known', async () => {
  expect(await createOpenViewer({ hiddenFrom: () => Promise.resolve(['acme']) })()).toEqual({ hidden: ['acme'] })
  await expect(createOpenViewer({ hiddenFrom: () => Promise.reject(new Error('gone')) })()).rejects.toThrow('not known')
})
