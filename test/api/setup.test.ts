import { afterEach, expect, test } from 'vitest'
import { freshAddress } from '../support/app.ts'
import { PASSWORD, startAccounts, type TestAccounts } from '../support/accounts.ts'

let it: TestAccounts
afterEach(() => it.close())
const create = (name: string, headers: Record<string, string> = {}, password = PASSWORD) =>
  it.app.ask('POST', '/api/v1/setup/', {
    body: { admin_username: name, admin_password: password },
    headers: { ...freshAddress(), ...headers },
  })
const status = async () => (await it.app.ask('GET', '/api/v1/setup/status')).json()

test('of twenty first admins at once, one is made', async () => {
  it = await startAccounts()
  expect(await status()).toEqual({
    admin_exists: false,
    setup_done: false,
    needs_setup: true,
    token_required: false,
    appliance: { name: '', environment: '', colour: 'ochre' },
    checked_at: expect.any(String),
  })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => create(`admin${n}`, { 'x-forwarded-for': '198.51.100.1' })),
  )
  expect(answers.map(answer => answer.status).sort()).toEqual([201, ...Array<number>(19).fill(409)])
  expect(await it.stock.db.query('select 1 from account')).toHaveLength(1)
  expect(await status()).toMatchObject({ admin_exists: true, setup_done: true, needs_setup: false })
  const winner = String(answers.find(answer => answer.status === 201)?.json().username)
  expect((await it.login(winner, PASSWORD)).status).toBe(200)
  expect((await create('late')).status).toBe(409)
  expect(await it.audited('USER_CREATE')).toMatchObject([{ user: winner, ip: '198.51.100.1' }])
})

test('it stays closed once there are users, also when a directory removed the role of the last admin', async () => {
  it = await startAccounts()
  await it.user('ada', 'reader')
  await it.stock.db.query(`update account set origin = 'ldap'`)
  expect(await status()).toMatchObject({ admin_exists: true, needs_setup: false })
  expect((await create('mallory')).status).toBe(409)
  expect((await create('ada')).status).toBe(409)
  expect(await it.stock.db.query('select username, role from account')).toEqual([{ username: 'ada', role: 'reader' }])
})

test('it needs the setup token where one is set', async () => {
  it = await startAccounts({ setupToken: 'open sesame' })
  expect(await status()).toMatchObject({ needs_setup: true, token_required: true })
  for (const headers of [
    {},
    { 'x-setup-token': '' },
    { 'x-setup-token': 'open sesam' },
    { 'x-setup-token': 'OPEN SESAME' },
  ])
    expect((await create('root', headers)).status).toBe(403)
  expect(await it.stock.db.query('select 1 from account')).toHaveLength(0)
  expect((await create('root', { 'x-setup-token': 'open sesame' }, 'weak')).status).toBe(422)
  expect((await create('bad name', { 'x-setup-token': 'open sesame' })).status).toBe(422)
  expect((await create('root', { 'x-setup-token': 'open sesame' })).status).toBe(201)
  expect((await create('root', {})).status).toBe(409)
})
