import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWithSource, type WithSource } from '../support/with-source.ts'

const SOURCES = 46
let with_: WithSource
let silent: Server
let asked = 0

beforeAll(async () => {
  with_ = await startWithSource()
  // takes every connection, and says nothing
  silent = createServer(() => asked++)
  await new Promise<void>(resolve => {
    silent.listen(0, '127.0.0.1', resolve)
  })
  const { port } = silent.address() as AddressInfo
  // the sources that come with the product are left out: the network is not asked from here
  const { sources } = (await with_.call<{ sources: { key: string }[] }>('GET', '/import/sources')).body
  const off = Object.fromEntries(sources.map(({ key }) => [key, key === 'elsewhere']))
  expect((await with_.call('PATCH', '/settings/', { sources: off })).status).toBe(200)
  for (let n = 0; n < SOURCES; n++) {
    const url = `http://127.0.0.1:${port}/${n}/`
    const wish = { name: `Dead ${n}`, type: 'apt', url, distribution: 'bookworm', keys: [with_.key.fingerprint] }
    expect((await with_.call('POST', '/import/sources', { ...wish, architectures: ['amd64'] })).status).toBe(201)
  }
  await with_.offer([{ name: 'alive', version: '1.0' }])
})
afterAll(async () => {
  await with_.close()
  silent.close()
})

test(
  'a synchronisation of 46 sources on a dead host ends in under two minutes, and the others are read',
  { timeout: 240_000 },
  async () => {
    const begun = Date.now()
    const { body } = await with_.call<{ job_id: string }>('POST', '/import/sync/start/apt')
    const path = `/import/sync/jobs/${body.job_id}`
    await expect
      .poll(async () => (await with_.call('GET', path)).body.status, { timeout: 200_000, interval: 500 })
      .toBe('done')
    const seconds = (Date.now() - begun) / 1000
    expect(seconds).toBeLessThan(120)
    expect((await with_.call('GET', path)).body).toMatchObject({ done_count: SOURCES + 1, error_count: SOURCES })
    expect(asked).toBeLessThanOrEqual(12)
    const { sources } = (
      await with_.call<{ sources: { source_id: string; state: string; error: string | null }[] }>(
        'GET',
        '/import/sync-status',
      )
    ).body
    const dead = sources.filter(one => one.source_id.startsWith('dead-'))
    expect(dead.map(({ state }) => state)).toEqual(Array(SOURCES).fill('unreachable'))
    expect(dead.filter(({ error }) => error?.includes('is asked again at') === true).length).toBeGreaterThanOrEqual(
      SOURCES - asked,
    )
    expect(sources.find(one => one.source_id === 'elsewhere')).toMatchObject({ state: 'ok' })
  },
)
