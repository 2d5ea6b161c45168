import { afterAll, beforeAll, expect, test } from 'vitest'
import { hello } from '../support/uploads.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'

const TOKEN = 'what-only-the-host-of-these-tests-knows'

let it: Daemon
let admin: string
beforeAll(async () => {
  it = await startDaemon({ env: { INTERNAL_TOKEN: TOKEN } })
  admin = await it.setupAdmin()
})
afterAll(() => it.close())

const ask = (token?: string): Promise<Answer> =>
  it.call('GET', '/internal/tenants', token === undefined ? {} : { token })

test('whoever hosts the service learns whom it serves, and how much that is', async () => {
  expect((await it.call('POST', '/distributions/init', { token: admin })).status).toBeLessThan(300)
  const deb = await hello()
  expect((await it.upload(deb, { token: admin, distribution: 'jammy' })).status).toBeLessThan(300)
  const { status, body } = await ask(TOKEN)
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      tenants: [
        {
          issued_to: null,
          edition: 'enterprise',
          app_url: '',
          version: 'dev',
          users: 1,
          packages: 1,
          package_bytes: deb.length,
        },
      ],
      total: 1,
    },
  })
})

test('without the token, with another one, or as an admin of the installation nobody learns anything', async () => {
  const answers = [await ask(), await ask('sword'), await ask(admin)]
  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [401, 'not_authenticated'],
    [401, 'bad_credential'],
    [401, 'bad_credential'],
  ])
})

test('where no token is set there is nothing, whatever is sent', async () => {
  await it.stop()
  await it.restart({ INTERNAL_TOKEN: '' })
  for (const { status, body } of [await ask(), await ask(TOKEN), await ask(admin)])
    expect([status, body.code]).toEqual([404, 'not_found'])
})
