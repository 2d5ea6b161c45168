import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, type Answer, type Daemon } from '../../support/daemon.ts'
import { buildDeb } from '../../support/packages.ts'
import { expectShape, i, list, obj, s } from '../../support/shapes.ts'

let daemon: Daemon
let token: string
const get = (path: string): Promise<Answer> => daemon.call('GET', path, { token })

beforeAll(async () => {
  daemon = await startDaemon()
  token = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  for (const name of ['one', 'two', 'three'])
    expect((await daemon.upload(await buildDeb({ name, version: '1' }), { token })).body.status).toBe('published')
})
afterAll(() => daemon.close())

test('a distribution says what existing clients show of it', async () => {
  const { body } = await get('/distributions/')
  const ITEM = { codename: s, name: s, full_name: s, os: s, badge: s, color: s, package_count: i, format: s }
  expectShape(body, obj({ distributions: list(obj(ITEM)) }))
  expect((body.distributions as { codename: string }[]).find(({ codename }) => codename === 'jammy')).toMatchObject({
    full_name: 'Ubuntu 22.04 LTS',
    os: 'ubuntu',
    package_count: 3,
    format: 'deb',
  })
})

test('the packages of a distribution are all of them unless a page is asked for', async () => {
  const { body } = await get('/distributions/jammy/packages')
  expectShape(body, obj({ codename: s, packages: list(obj({ name: s, version: s })), total: i }))
  const names = (packages: unknown): string[] => (packages as { name: string }[]).map(({ name }) => name)
  expect([body.codename, names(body.packages), body.total]).toEqual(['jammy', ['one', 'three', 'two'], 3])
  const paged = await get('/distributions/jammy/packages?page=2&per_page=2')
  expect([names(paged.body.packages), paged.body.total]).toEqual([['two'], 3])
  expect(names((await get('/distributions/jammy/packages?q=THR')).body.packages)).toEqual(['three'])
})

test('the targets of a promotion are distributions that take the package, with what the policy says', async () => {
  expect(
    (
      await daemon.upload(await buildDeb({ name: 'two', version: '1', files: { other: 'bytes' } }), {
        token,
        distribution: 'focal',
      })
    ).body.status,
  ).toBe('published')
  const { status, body, text } = await get('/artifacts/two/promote/targets?from_dist=jammy')
  expect(status, text).toBe(200)
  expectShape(
    body,
    obj({
      package: s,
      from_dist: s,
      targets: list(s),
      policy_verdict: obj({
        verdict: s,
        reason: s,
        warnings: list(obj({})),
        blocking: list(obj({})),
        reviewing: list(obj({})),
      }),
    }),
  )
  const targets = body.targets as string[]
  expect(targets).toContain('noble')
  for (const none of ['jammy', 'focal', 'almalinux9', 'alpine3.20']) expect(targets).not.toContain(none)
  expect(body.differences).toContainEqual({
    distribution: 'focal',
    name: 'two',
    version: '1',
    arch: 'amd64',
    target: '1',
    standing: 'conflict',
  })
  expect(body.policy_verdict).toMatchObject({ verdict: 'allow', warnings: [], blocking: [], reviewing: [] })
  const codes = async (path: string) => {
    const answer = await get(`/artifacts/${path}`)
    return [answer.status, answer.body.code]
  }
  expect(await codes('two/promote/targets')).toEqual([422, 'missing_property'])
  expect(await codes('none/promote/targets?from_dist=jammy')).toEqual([404, 'package_not_found'])
  expect(await codes('two/promote/targets?from_dist=nowhere')).toEqual([422, 'unknown_distribution'])
})

test('a migration names what went', async () => {
  const road = { from_dist: 'jammy', to_dist: 'noble' }
  const migrate = (more = {}): Promise<Answer> =>
    daemon.call('POST', '/distributions/migrate', { token, body: { ...road, ...more } })
  expect((await migrate({ packages: ['one'] })).body).toMatchObject({ migrated: 1, packages: ['one'], errors: [] })
  const { body } = await migrate()
  expectShape(
    body,
    obj({ status: s, from: s, to: s, migrated: i, packages: list(s), errors: list(obj({})), manifests_updated: i }),
  )
  expect(body).toMatchObject({ migrated: 2, manifests_updated: 2, differences: [{}, {}, {}] })
  expect((body.packages as string[]).sort()).toEqual(['three', 'two'])
})
