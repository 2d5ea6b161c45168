import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decideVersion } from '../support/defined-registries.ts'
import { buildWheel, wheelName, type PythonSpec } from '../support/packages-pypi.ts'
import { createPython, noPip, type PythonClient } from '../support/python.ts'
import { startRegistryHouse } from '../support/registry-house.ts'
import type { RegistryUpstream } from '../support/registry-upstream.ts'

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'

const house = await startRegistryHouse('pypi')
const { daemon, token, upstream, second, must, make, left } = house

const ask = (method: string, path: string, body?: object) =>
  daemon.call(method, path, { token, ...(body === undefined ? {} : { body }) })
/** What the upstream of somebody else has of a name, also of one of ours. */
function outside(project: string, version: string, at: RegistryUpstream = upstream): void {
  const spec = { name: project, version }
  const bytes = buildWheel(spec)
  at.put(`/files/${wheelName(spec)}`, { body: bytes })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const files = [{ filename: wheelName(spec), url: `${at.url}/files/${wheelName(spec)}`, hashes: { sha256 } }]
  at.put(`/simple/${project}/`, { type: JSON_TYPE, body: JSON.stringify({ files }) })
}
async function publish(registry: string, spec: PythonSpec): Promise<void> {
  const answer = await daemon.upload(buildWheel(spec), { token, distribution: registry, filename: wheelName(spec) })
  expect(answer.status, answer.text).toBeLessThan(300)
}
interface Page {
  readonly status: number
  readonly reason: string
  readonly text: string
  readonly files: readonly string[]
}
async function page(registry: string, name: string): Promise<Page> {
  const response = await fetch(`${daemon.url}/pypi/${registry}/simple/${name}/`, { headers: { Accept: JSON_TYPE } })
  const text = await response.text()
  const files = response.status === 200 ? (JSON.parse(text) as { files: { filename: string }[] }).files : []
  return { status: response.status, reason: response.statusText, text, files: files.map(({ filename }) => filename) }
}
beforeAll(async () => {
  await make('ours', { reserved: ['house-*'] })
  await make('secret', {})
  await make('elsewhere', {})
  await make('outside', { kind: 'proxy', upstream: { url: `${upstream.url}/simple` } })
  await make('second', { kind: 'proxy', upstream: { url: `${second.url}/simple` } })
  // the proxies come first: an owned name is its owner's all the same
  await make('every', { kind: 'group', members: ['outside', 'second', 'secret', 'ours'] })
  await must('PUT', '/access/distributions/secret', { private: true, roles: ['maintainer'] })
})
afterAll(() => house.close())

describe('a name of the house is never looked up outside', () => {
  beforeAll(async () => {
    await publish('ours', { name: 'our-lib', version: '1.0' })
    outside('our-lib', '99.0')
    left()
  })

  test('a higher version outside', async () => {
    expect((await page('every', 'our-lib')).files).toEqual(['our_lib-1.0-py3-none-any.whl'])
    expect(left()).toEqual([])
  })
  test('other spellings', async () => {
    for (const spelling of ['Our.Lib', 'our_lib', 'OUR--LIB']) await page('every', spelling)
    expect(left()).toEqual([])
  })
  test('asked of the proxy itself, which says why', async () => {
    const answer = await page('outside', 'our-lib')
    expect(answer).toMatchObject({ status: 404, text: expect.stringContaining('belongs to this house') })
    expect(left()).toEqual([])
  })
  test('a deleted one', async () => {
    await publish('ours', { name: 'once-ours', version: '1.0' })
    outside('once-ours', '2.0')
    const gone = await ask('DELETE', '/artifacts/once-ours/1.0?distribution=ours')
    expect(gone.status, gone.text).toBeLessThan(300)
    expect((await page('every', 'once-ours')).status).toBe(404)
    expect((await page('outside', 'once-ours')).status).toBe(404)
    expect(left()).toEqual([])
  })
  test('one that only somebody else may see', async () => {
    await publish('secret', { name: 'hush', version: '1.0' })
    outside('hush', '2.0')
    const answer = await page('every', 'hush')
    expect(answer.status).toBe(404)
    expect(answer.text).not.toContain('secret')
    expect(left()).toEqual([])
  })
  test('one that is in no member of the group', async () => {
    await publish('elsewhere', { name: 'aside', version: '1.0' })
    outside('aside', '2.0')
    expect((await page('every', 'aside')).text).toContain('belongs to this house')
    expect(left()).toEqual([])
  })
  test('one that is only reserved', async () => {
    outside('house-plan', '1.0')
    expect((await page('every', 'House.Plan')).status).toBe(404)
    expect((await page('every', 'house-plan')).status).toBe(404)
    expect(left()).toEqual([])
  })
  test('a file of it by its exact address', async () => {
    const url = `${daemon.url}/pypi/every/files/our-lib/our_lib-99.0-py3-none-any.whl`
    expect((await fetch(url)).status).toBe(404)
    expect(left()).toEqual([])
  })
  test('a held one answers why, and nobody else is asked', async () => {
    await publish('ours', { name: 'waits', version: '1.0' })
    await decideVersion(daemon, {
      ...{ token, registry: 'ours', name: 'waits', version: '1.0', arch: 'py3-none-any', action: 'quarantine' },
    })
    outside('waits', '2.0')
    const file = await fetch(`${daemon.url}/pypi/every/files/waits/waits-1.0-py3-none-any.whl`)
    expect([file.status, file.statusText]).toEqual([403, expect.stringContaining('Quarantined by Gatehouse')])
    expect(left()).toEqual([])
  })
})

test('another name comes from the first proxy that has it, below the address of the group', async () => {
  outside('calm', '1.0', second)
  expect((await page('every', 'calm')).files).toEqual(['calm-1.0-py3-none-any.whl'])
  expect(left()).toEqual(['/simple/calm/', '/simple/calm/'])
  outside('both', '1.0')
  outside('both', '2.0', second)
  expect((await page('every', 'both')).files).toEqual(['both-1.0-py3-none-any.whl'])
  expect(left()).toEqual(['/simple/both/'])
})

test('a proxy that fails ends the search: another one must not answer for it', async () => {
  outside('split', '6.6', second)
  upstream.fail(500)
  const answer = await page('every', 'split')
  upstream.fail(undefined)
  expect(answer.status).toBe(502)
  expect(second.asked()).toEqual([])
  left()
})

test('nothing is published into a group or a proxy', async () => {
  for (const [registry, where] of [
    ['every', 'secret or ours'],
    ['outside', 'a hosted registry'],
  ] as const) {
    const form = new FormData()
    form.set(':action', 'file_upload')
    form.set(
      'content',
      new Blob([new Uint8Array(buildWheel({ name: 'mine', version: '1.0' }))]),
      'mine-1.0-py3-none-any.whl',
    )
    const headers = { Authorization: `Bearer ${token}` }
    const answer = await fetch(`${daemon.url}/pypi/${registry}/legacy/`, { method: 'POST', body: form, headers })
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining(`Publish into ${where}.`)])
  }
})

test('the list of names has those of all members, each once', async () => {
  const response = await fetch(`${daemon.url}/pypi/every/simple/`, { headers: { Accept: JSON_TYPE } })
  const { projects } = (await response.json()) as { projects: { name: string }[] }
  const names = projects.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['both', 'calm', 'our-lib']))
  expect(names).not.toContain('hush')
  expect(new Set(names).size).toBe(names.length)
})

describe.skipIf(noPip !== undefined)('pip (needs python3-venv)', () => {
  let client: PythonClient
  beforeAll(async () => {
    client = await createPython()
  })
  afterAll(() => client.close())

  test('installs ours and what is outside through one address', async () => {
    await publish('ours', { name: 'our-app', version: '1.0', fields: { 'Requires-Dist': ['our-lib', 'calm'] } })
    left()
    const ran = await client.pip('install', '-i', `${daemon.url}/pypi/every/simple/`, 'our-app')
    expect(ran, ran.out).toMatchObject({ code: 0 })
    expect(await client.value('our_lib, calm', 'our_lib.VERSION, calm.VERSION')).toBe('1.0 1.0')
    expect(left().filter(path => path.includes('our'))).toEqual([])
  })
})
