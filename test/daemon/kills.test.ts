import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type CallOptions, type Daemon } from '../support/daemon.ts'
import { createDeveloper, type Developer } from '../support/gpg.ts'
import { buildDeb } from '../support/packages.ts'
import { buildChanges, buildSource } from '../support/sources.ts'
import { lacking, run } from '../support/tools.ts'

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 3)
const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')
const SHOP = 'shop'

describe.skipIf(lacking('gnupg').length > 0)('kill -9 while trees are arranged (needs gnupg)', () => {
  let daemon: Daemon
  let token: string
  let jo: Developer
  /** By language, what the translation may be: the last one that was acknowledged, and those that were not. */
  const documents = new Map<string, Set<string | undefined>>()
  /** By codename, the labels that an own distribution may have; undefined: it is not there. */
  const labels = new Map<string, Set<string | undefined>>()
  const promoted = new Set<string>()
  const sent = new Set<string>()
  let number = 0

  beforeAll(async () => {
    jo = await createDeveloper('Jo <jo@example.test>')
    daemon = await startDaemon({ env: { LOG_LEVEL: 'error', JWT_EXPIRE_MINUTES: '600' } })
    token = await daemon.setupAdmin()
    const key = { name: 'jo', public_key: jo.publicKey }
    expect(await daemon.call('POST', '/uploader-keys', { token, body: key })).toMatchObject({ status: 201 })
    const based = { based_on: 'bookworm', components: ['main', 'extra'] }
    for (const codename of [SHOP, 'shop-next'])
      await daemon.call('POST', '/distributions/', { token, body: { ...based, codename } })
    for (const codename of ['bookworm', SHOP, 'shop-next'])
      expect(await daemon.call('POST', '/distributions/init', { token, body: { codename } })).toMatchObject({
        status: 200,
      })
  })
  afterAll(async () => {
    await daemon.close()
    await jo.close()
  })

  const call = async (method: string, path: string, options: Omit<CallOptions, 'token'> = {}) =>
    daemon.call(method, path, { token, ...options }).catch(() => undefined)

  /** Notes what may be true from now on; after the answer only what it said is. @returns false when there was none */
  async function told<Value>(
    known: Map<string, Set<Value | undefined>>,
    { key, value }: { readonly key: string; readonly value: Value | undefined },
    answer: () => Promise<{ readonly status: number; readonly text: string } | undefined>,
  ): Promise<boolean> {
    known.set(key, new Set([...(known.get(key) ?? [undefined]), value]))
    const said = await answer()
    if (said === undefined) return false
    expect([200, 201, 204], said.text).toContain(said.status)
    known.set(key, new Set([value]))
    return true
  }

  async function putDocuments(): Promise<void> {
    for (;;) {
      const key = ['de', 'fr', 'it'][number++ % 3] ?? ''
      const place = `/distributions/bookworm/documents/translation?component=main&name=${key}`
      const about = `About ${number}\n`
      const md5 = createHash('md5').update(about).digest('hex')
      const text = `Package: hello\nDescription-md5: ${md5}\nDescription-${key}: ${about}\n`
      const value = createHash('sha256').update(text).digest('hex')
      const form = new FormData()
      form.append('file', new Blob([text]), 'document')
      if (!(await told(documents, { key, value }, () => call('PUT', place, { form })))) return
      if (
        (await call('POST', `/distributions/${SHOP}/documents/copy`, { body: { from_distribution: 'bookworm' } })) ===
        undefined
      )
        return
      if (number % 4 === 0 && !(await told(documents, { key, value: undefined }, () => call('DELETE', place)))) return
    }
  }

  async function arrangeDistributions(): Promise<void> {
    for (;;) {
      const key = `own-${number++}`
      const path = `/distributions/${key}`
      const body = { codename: key, based_on: 'bookworm', label: 'First' }
      if (!(await told(labels, { key, value: 'First' }, () => call('POST', '/distributions/', { body })))) return
      if ((await call('POST', '/distributions/init', { body: { codename: key } })) === undefined) return
      const change = { label: 'Second', architectures: ['amd64'] }
      if (!(await told(labels, { key, value: 'Second' }, () => call('PATCH', path, { body: change })))) return
      if ((await call('POST', `${path}/retire`)) === undefined) return
      if (!(await told(labels, { key, value: undefined }, () => call('DELETE', path)))) return
    }
  }

  async function promote(): Promise<void> {
    for (;;) {
      const name = `ware-${number++}`
      const form = new FormData()
      form.append('file', new Blob([new Uint8Array(await buildDeb({ name, version: '1' }))]), `${name}_1_amd64.deb`)
      form.append('distribution', SHOP)
      form.append('component', 'extra')
      const uploaded = await call('POST', '/upload/', { form })
      if (uploaded === undefined) return
      expect(uploaded.status, uploaded.text).toBe(201)
      const body = { package: name, version: '1', from_distribution: SHOP, to_distribution: 'shop-next' }
      const answer = await call('POST', '/distributions/promote', { body })
      if (answer === undefined) return
      expect(answer.status, answer.text).toBe(200)
      promoted.add(name)
      // makes the root anew over the same files
      if (
        (await call('PATCH', `/distributions/${SHOP}/release`, { body: { valid_days: 1 + (number % 9) } })) ===
        undefined
      )
        return
    }
  }

  async function sendChanges(): Promise<void> {
    for (;;) {
      const source = `goods-${number++}`
      const files = {
        ...buildSource({ name: source, version: '1' }),
        [`${source}_1_all.deb`]: await buildDeb({ name: source, version: '1', arch: 'all' }),
      }
      const changes = await jo.clearsign(buildChanges({ source, version: '1', distribution: 'bookworm', files }))
      for (const [name, bytes] of Object.entries({ ...files, [`${source}_1_source.changes`]: changes })) {
        const answer = await fetch(`${daemon.url}/incoming/bookworm/${name}`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${token}` },
          body: new Uint8Array(bytes),
        }).catch(() => undefined)
        if (answer === undefined) return
        expect(answer.status, await answer.text().catch(() => '')).toBeLessThan(300)
      }
      sent.add(source)
    }
  }

  async function stopWhileBusy(stop: () => Promise<void>): Promise<void> {
    const lanes = Promise.all([putDocuments(), arrangeDistributions(), promote(), sendChanges()])
    await stop()
    await lanes
  }

  async function listNames(codename: string): Promise<ReadonlySet<string>> {
    const { body } = await daemon.call<{ items: readonly { name: string; kind?: string; component?: string }[] }>(
      'GET',
      `/packages/?distribution=${codename}&state=published&per_page=200`,
      { token },
    )
    return new Set(body.items.map(({ name }) => name))
  }

  async function proveWhole(): Promise<void> {
    const { body } = await daemon.call<{ documents: readonly { name: string; sha256: string }[] }>(
      'GET',
      '/distributions/bookworm/documents',
      { token },
    )
    for (const [key, values] of documents)
      expect([...values], key).toContain(body.documents.find(({ name }) => name === key)?.sha256)
    for (const [key, values] of labels) {
      const { status, body: one } = await daemon.call<{ label: string }>('GET', `/distributions/${key}/definition`, {
        token,
      })
      expect([...values], key).toContain(status === 404 ? undefined : one.label)
      if (status !== 404) continue
      const left = ['trees', 'apt/dists', 'apt/pool', 'documents'].filter(folder =>
        existsSync(join(daemon.root, folder, key)),
      )
      expect(left, key).toEqual([])
    }
    const [next, bookworm] = [await listNames('shop-next'), await listNames('bookworm')]
    expect([...promoted].filter(name => !next.has(name))).toEqual([])
    expect([...sent].filter(name => !bookworm.has(name))).toEqual([])
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
    const { out, err } = await run(process.execPath, [VERIFY, '--json'], {
      env: {
        REPOS_ROOT: daemon.root,
        ENV: 'test',
        ...(daemon.databaseUrl === undefined ? {} : { DATABASE_URL: daemon.databaseUrl }),
      },
    })
    expect((JSON.parse(out || err) as { differences: unknown }).differences).toEqual([])
  }

  test.each([
    'distribution:before-trees',
    'document:before-commit',
    'document:before-settle',
    'publish:before-rename#3',
    'publish:after-swap#2',
    'catalog:before-commit#4',
  ])('at %s', async point => {
    await daemon.stop()
    await daemon.restart({ GATEHOUSE_FAILPOINT: point })
    await stopWhileBusy(() => daemon.ended())
    await daemon.restart()
    await proveWhole()
  })

  test(`${ROUNDS} times at a random moment`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await stopWhileBusy(async () => {
        const before = [promoted.size, sent.size]
        const grown = (): boolean => [promoted.size, sent.size].every((size, n) => size > (before[n] ?? 0))
        await expect.poll(grown, { timeout: 60_000 }).toBe(true)
        // not a wait for something: the moment itself is what is random
        await new Promise(resolve => setTimeout(resolve, Math.random() * 2_500))
        await daemon.kill9()
      })
      await daemon.restart()
      await proveWhole()
    }
    expect([documents, labels, promoted, sent].map(({ size }) => size > 0)).toEqual([true, true, true, true])
  })
})
