import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import type { BoundRoute, Row } from '../../server/core/contract.ts'
import { freshAddress } from '../support/app.ts'
import { startAccounts, type TestAccounts } from '../support/accounts.ts'

const ROWS = Object.entries(api as Readonly<Record<string, Row>>)

/** Rows that let members of others pass, and why. */
const OPEN: Readonly<Record<string, string>> = {
  'GET /auth/oidc/callback': 'RFC 6749, 4.1.2: unrecognised response parameters are ignored',
}
/** Bodies that are maps: their handlers refuse unknown keys by name (`unknown_setting`). */
const MAPS = new Set(['PATCH /settings/', 'POST /settings/test-ldap', 'POST /settings/test-oidc'])

const handled: string[] = []
/** The real rows. Handlers only note that they were called: a refusal must come before anything is changed. */
const watched: BoundRoute[] = ROWS.map(([key, { limit: _, edition: __, ...row }]) => ({
  key,
  row,
  handle: () => {
    handled.push(key)
    throw new Error('a handler was called')
  },
}))

let it: TestAccounts
let token: string
beforeAll(async () => {
  it = await startAccounts({ routes: watched })
  await it.user('boss', 'admin')
  token = await it.session('boss')
})
afterAll(() => it.close())

interface Refusal {
  readonly detail: readonly { readonly loc: readonly string[]; readonly type: string; readonly msg: string }[]
}
const NAMED: Readonly<Record<string, string>> = {
  codename: 'jammy',
  kind: 'modules',
  token_id: '1',
  id: '1',
  place: 's3',
}

async function ask(key: string, row: Row, sent: { readonly query?: string; readonly body?: object }) {
  const [method = '', path = ''] = key.split(' ')
  const address = `${row.root === true ? '' : '/api/v1'}${path.replace(/\{(\w+)\}/g, (_, name: string) => NAMED[name] ?? 'some')}`
  const answer = await it.app.ask(method, `${address}${sent.query ?? ''}`, {
    token,
    headers: freshAddress(),
    ...(sent.body === undefined ? {} : { body: sent.body as Record<string, unknown> }),
  })
  return { status: answer.status, body: answer.json() as unknown as Refusal }
}

describe.each(ROWS.filter(([key]) => OPEN[key] === undefined))('%s', (key, row) => {
  test('refuses a query parameter that it does not have, and says which there are', async () => {
    handled.length = 0
    const { status, body } = await ask(key, row, { query: '?surely_unknown=1' })
    expect(status).toBe(422)
    const known = Object.keys((row.query?.properties ?? {}) as object)
    expect(body.detail.find(({ type }) => type === 'extra_forbidden')).toEqual({
      loc: ['query', 'surely_unknown'],
      type: 'extra_forbidden',
      msg: `There is no such query parameter. ${known.length === 0 ? 'This route takes no query parameter here.' : `There are: ${known.join(', ')}.`}`,
      input: '1',
    })
    expect(handled).toEqual([])
  })
})

/** Whether a route takes JSON that its row describes; one without a body refuses every member. */
const takesMembers = ([key, row]: readonly [string, Row]): boolean =>
  !key.startsWith('GET ') && row.upload === undefined && row.foreign !== true && !MAPS.has(key)

describe.each(ROWS.filter(takesMembers))('%s', (key, row) => {
  test('refuses a field that its body does not have', async () => {
    handled.length = 0
    // a required query parameter would be refused first
    const required = (row.query as { readonly required?: readonly string[] } | undefined)?.required ?? []
    expect(required).toEqual([])
    const { status, body } = await ask(key, row, { body: { surely_unknown: 'x' } })
    expect(status).toBe(422)
    expect(body.detail).toContainEqual(
      expect.objectContaining({ loc: ['body', 'surely_unknown'], type: 'extra_forbidden', input: 'x' }),
    )
    expect(handled).toEqual([])
  })
})

test.each([
  ['distribution', '/packages/', 'nosuch', 'unknown_distribution'],
  ['distribution', '/security/vulnerabilities', 'nosuch', 'unknown_distribution'],
  ['distribution', '/security/review-queue', 'nosuch', 'unknown_distribution'],
  ['distribution', '/sbom/export', 'nosuch', 'unknown_distribution'],
  ['format', '/packages/', 'zip', 'value_error'],
  ['format', '/artifacts/', 'zip', 'value_error'],
  ['arch', '/artifacts/', 'vax', 'value_error'],
  ['arch', '/security/vulnerabilities', 'vax', 'value_error'],
  ['status', '/artifacts/', 'nice', 'value_error'],
  ['severity', '/security/vulnerabilities', 'dire', 'value_error'],
  ['sort', '/packages/', 'colour', 'value_error'],
  ['action', '/artifacts/audit/logs', 'TEA', 'value_error'],
  ['result', '/artifacts/audit/logs', 'fine', 'value_error'],
])('a filter %s of %s that no package can have is 422 and names what there is', async (name, path, value, type) => {
  handled.length = 0
  const answer = await it.app.ask('GET', `/api/v1${path}?${name}=${value}`, { token, headers: freshAddress() })
  expect(answer.status).toBe(422)
  const { detail } = answer.json() as unknown as Refusal
  expect(detail).toEqual([
    {
      loc: ['query', name],
      type,
      msg: expect.stringMatching(/(one of|There are:) .+/) as string,
      input: type === 'unknown_distribution' ? null : value,
    },
  ])
  expect(handled).toEqual([])
})

test('a body where a route takes none deletes nothing unasked', async () => {
  handled.length = 0
  const answer = await it.app.ask('DELETE', '/api/v1/artifacts/hello/1.0', {
    token,
    headers: freshAddress(),
    body: { distribution: 'jammy' },
  })
  expect([answer.status, answer.json()]).toMatchObject([
    422,
    { detail: [{ loc: ['body', 'distribution'], type: 'extra_forbidden' }] },
  ])
  expect(handled).toEqual([])
})
