import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../test/support/app.ts'
import type { Principal } from '../core/access.ts'
import { AppError } from '../core/errors.ts'

let app: TestApp
const OF_ALICE = `Basic ${Buffer.from('x:alice').toString('base64')}`
const OF_BOB = `Basic ${Buffer.from('x:bob').toString('base64')}`

beforeAll(async () => {
  app = await startApp({
    privateTrees: async () => new Set(['jammy']),
    authenticate: async authorization => {
      const [, name = ''] = /^Bearer (alice|bob)$/.exec(authorization ?? '') ?? []
      if (name === '') throw new AppError('not_authenticated', {})
      return { name } as Principal
    },
    hiddenFrom: async who => (who.name === 'bob' ? ['jammy'] : []),
  })
})
afterAll(() => app.close())

async function admission(tree: string, authorization?: string): Promise<readonly unknown[]> {
  const headers = { 'x-tree': tree, ...(authorization === undefined ? {} : { authorization }) }
  const { status, headers: got } = await app.ask('GET', '/internal/tree', { headers })
  return [status, got['x-tree-admission'], got['cache-control']]
}

test.each([
  ['an open tree', '/repos/dists/noble', undefined, [204, 'open', 'max-age=2']],
  ['packages of an open tree', '/repos/pool/noble', undefined, [204, 'open', 'max-age=2']],
  ['an open tree, with a credential that nobody asked for', '/repos/pool/noble', OF_BOB, [204, 'open', 'max-age=2']],
  ['a private tree without a credential', '/repos/pool/jammy', undefined, [401, 'ask', 'no-store']],
  ['one kept generation of it', '/repos/dists/jammy@12', undefined, [401, 'ask', 'no-store']],
  ['a private tree, for one who may', '/repos/pool/jammy', OF_ALICE, [204, 'allowed', 'no-store']],
  ['a private tree, for one who may not', '/repos/pool/jammy', OF_BOB, [403, 'absent', 'no-store']],
  ['a name that all distributions share', '/repos/pool/main', undefined, [401, 'ask', 'no-store']],
  ['no tree', '/etc/shadow', undefined, [403, 'absent', 'no-store']],
  ['an empty part', '/repos//jammy', undefined, [403, 'absent', 'no-store']],
  ['nothing', '', undefined, [403, 'absent', 'no-store']],
])('a proxy that serves from disk asks about %s', async (_, tree, authorization, answer) => {
  expect(await admission(tree, authorization)).toEqual(answer)
})
