import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { toyPackage } from '../support/toy/index.ts'
import { copyWithToy } from '../support/toy/server.ts'

let copy: Awaited<ReturnType<typeof copyWithToy>>
let daemon: Daemon
let token: string

beforeAll(async () => {
  copy = await copyWithToy()
  daemon = await startDaemon({ entry: copy.entry })
  token = await daemon.setupAdmin()
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await copy.remove()
})

const read = async (path: string): Promise<string> => (await fetch(`${daemon.url}${path}`)).text()
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe('a format that is a folder and a line in the list', () => {
  test("has distributions, with the format's defaults", async () => {
    const made = await daemon.call('POST', '/distributions/', { token, body: { codename: 'attic', format: 'toy' } })
    expect(made, made.text).toMatchObject({
      status: 201,
      body: { codename: 'attic', format: 'toy', architectures: ['wood', 'tin'], components: ['main'], scanner: null },
    })
    const init = await daemon.call('POST', '/distributions/init', { token, body: { codename: 'attic' } })
    expect(init.status, init.text).toBe(200)
    const { body } = await daemon.call('GET', '/formats', { token })
    expect((body.formats as { id: string }[]).find(({ id }) => id === 'toy')).toEqual({
      id: 'toy',
      label: 'toy package (.toy)',
      word: 'toy',
      endings: ['.toy'],
      active: true,
      release_words: false,
      documents: false,
      registry: false,
    })
  })

  test('passes the gate and is in a signed tree that clients read', async () => {
    const bytes = toyPackage('horse', '10', 'a wooden horse')
    const up = await daemon.upload(bytes, { token, filename: 'horse.toy', distribution: 'attic' })
    expect(up, up.text).toMatchObject({
      status: 201,
      body: { name: 'horse', version: '10', arch: 'any', format: 'toy', status: 'published' },
    })
    const index = await read('/toys/attic/tin/INDEX')
    expect(index).toBe(`horse 10 ${sha256(bytes)} horse-10.toy\n`)
    expect(await read('/toys/attic/wood/INDEX')).toBe(index)
    const root = await read('/toys/attic/ROOT')
    expect(root).toContain('-----BEGIN PGP SIGNED MESSAGE-----')
    expect(root).toContain(`${sha256(index)} tin/INDEX\n`)
    expect(await read('/toys/attic/horse-10.toy')).toBe(bytes.toString())
  })

  test('is ordered by its own versions, and its clients are told how they are set up', async () => {
    const up = await daemon.upload(toyPackage('horse', '9', 'older'), {
      token,
      filename: 'h.toy',
      distribution: 'attic',
    })
    expect(up.body.status, up.text).toBe('published')
    const found = await daemon.call('GET', '/artifacts/?distribution=attic', { token })
    expect(found.body, found.text).toMatchObject({
      items: [{ name: 'horse', latest: '10', versions: ['10', '9'] }],
    })
    const setup = await daemon.call('GET', '/distributions/attic/setup', { token })
    expect(setup.text).toContain(`toy add ${daemon.url}/toys/attic/`)
  })

  test('is refused with the reason where it is broken, and where the distribution is of another format', async () => {
    const before = await read('/toys/attic/tin/INDEX')
    const broken = await daemon.upload(Buffer.from('TOY 1\nhorse ten any\n'), {
      token,
      filename: 'h.toy',
      distribution: 'attic',
    })
    expect(broken.status, broken.text).toBe(422)
    expect(broken.text).toContain('its second line must be: name, number, any')
    const elsewhere = await daemon.upload(toyPackage('horse', '11', ''), { token, distribution: 'jammy' })
    expect(elsewhere.status, elsewhere.text).toBe(422)
    expect(await read('/toys/attic/tin/INDEX')).toBe(before)
  })
})
