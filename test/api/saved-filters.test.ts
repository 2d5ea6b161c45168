import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { composeSavedFilters } from '../../server/features/saved-filters/compose.ts'
import { startAccounts, type TestAccounts } from '../support/accounts.ts'
import { freshAddress, type Answer } from '../support/app.ts'
import { createStock, type Stock } from '../support/test-catalog.ts'

let stock: Stock
let it: TestAccounts
let ada: string
let ben: string
beforeAll(async () => {
  stock = await createStock()
  it = await startAccounts({ stock, routes: composeSavedFilters({ db: stock.db }).routes })
})
afterAll(async () => {
  await it.close()
  await stock.close()
})
beforeEach(async () => {
  await stock.clear()
  await it.user('ada', 'reader')
  await it.user('ben', 'admin')
  ada = await it.session('ada')
  ben = await it.session('ben')
})

const ask = (method: string, path: string, token: string, body?: Record<string, unknown>): Promise<Answer> =>
  it.app.ask(method, `/api/v1/saved-filters${path}`, {
    token,
    headers: freshAddress(),
    ...(body === undefined ? {} : { body }),
  })
const said = (answer: Answer): [number, unknown] => [answer.status, answer.json().code]
const save = (token: string, name: string, query: object = { dist: 'jammy' }, screen = 'packages'): Promise<Answer> =>
  ask('POST', '', token, { screen, name, query })
const listed = async (token: string): Promise<unknown[]> =>
  ((await ask('GET', '', token)).json().filters as { screen: string; name: string; query: object }[]).map(
    ({ screen, name, query }) => [screen, name, query],
  )

describe("one's own saved filters", () => {
  test('are kept by name for each list, and are nobody else’s', async () => {
    const made = await save(ada, 'Mine', { dist: 'jammy', sort: '-size' })
    expect([made.status, made.json()]).toEqual([
      201,
      {
        id: expect.any(String) as string,
        screen: 'packages',
        name: 'Mine',
        query: { dist: 'jammy', sort: '-size' },
        created_at: expect.any(String) as string,
      },
    ])
    await save(ada, 'big', { q: 'x' })
    await save(ada, 'Mine', { kev: '1' }, 'review')
    await save(ben, 'Mine', { q: 'other' })
    expect(await listed(ada)).toEqual([
      ['packages', 'big', { q: 'x' }],
      ['packages', 'Mine', { dist: 'jammy', sort: '-size' }],
      ['review', 'Mine', { kev: '1' }],
    ])
    const path = `/${String(made.json().id)}`
    expect(said(await ask('PATCH', path, ben, { name: 'Taken' }))).toEqual([404, 'filter_not_found'])
    expect(said(await ask('DELETE', path, ben))).toEqual([404, 'filter_not_found'])
    expect(await listed(ben)).toEqual([['packages', 'Mine', { q: 'other' }]])
  })

  test('are renamed, changed and removed', async () => {
    const id = String((await save(ada, 'Mine')).json().id)
    expect((await ask('PATCH', `/${id}`, ada, { name: 'MINE' })).json()).toMatchObject({ id, name: 'MINE' })
    expect((await ask('PATCH', `/${id}`, ada, { query: { state: 'rejected' } })).status).toBe(200)
    expect(await listed(ada)).toEqual([['packages', 'MINE', { state: 'rejected' }]])
    expect((await ask('DELETE', `/${id}`, ada)).status).toBe(200)
    expect(said(await ask('DELETE', `/${id}`, ada))).toEqual([404, 'filter_not_found'])
    expect(await listed(ada)).toEqual([])
  })

  test('have one name on a list, in any case of its letters', async () => {
    await save(ada, 'Mine')
    const id = String((await save(ada, 'Other')).json().id)
    expect(said(await save(ada, 'mine', { q: 'x' }))).toEqual([409, 'filter_exists'])
    expect(said(await ask('PATCH', `/${id}`, ada, { name: 'MINE' }))).toEqual([409, 'filter_exists'])
    expect(await listed(ada)).toEqual([
      ['packages', 'Mine', { dist: 'jammy' }],
      ['packages', 'Other', { dist: 'jammy' }],
    ])
  })

  test('are a hundred at most, also when many are saved at once', async () => {
    const answers = await Promise.all(Array.from({ length: 104 }, (_, n) => save(ada, `n${n}`)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(100)
    expect(said(answers.find(({ status }) => status !== 201) as Answer)).toEqual([409, 'too_many_filters'])
    expect(await listed(ada)).toHaveLength(100)
  })

  test.each([
    ['an unknown list', { screen: 'settings', name: 'x', query: {} }],
    ['no name', { screen: 'packages', name: '', query: {} }],
    ['a name of blanks', { screen: 'packages', name: '  ', query: {} }],
    ['a name of two lines', { screen: 'packages', name: 'a\nb', query: {} }],
    ['a name that turns text around', { screen: 'packages', name: 'a\u202eb', query: {} }],
    ['a name of 61 characters', { screen: 'packages', name: 'x'.repeat(61), query: {} }],
    ['an odd key', { screen: 'packages', name: 'x', query: { 'a b': '1' } }],
    ['no text', { screen: 'packages', name: 'x', query: { q: 1 } }],
    ['a long text', { screen: 'packages', name: 'x', query: { q: 'x'.repeat(401) } }],
  ])('are refused with %s', async (_, body) => {
    expect(said(await ask('POST', '', ada, body))).toEqual([422, 'bad_shape'])
    expect(await listed(ada)).toEqual([])
  })

  test('go with the account', async () => {
    await save(ada, 'Mine')
    await stock.db.query("delete from account where username = 'ada'")
    expect(await stock.db.query('select name from saved_filter')).toEqual([])
  })

  test('an API token has none', async () => {
    const { token } = await it.apiTokens.create(
      { name: 'ci', role: 'admin' },
      { who: { kind: 'user', name: 'ben', role: 'admin', credential: '' }, ip: '' },
    )
    expect(await listed(token)).toEqual([])
    expect(said(await save(token, 'Mine'))).toEqual([400, 'no_account'])
  })
})
