import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createDb } from '../../server/db/db.ts'
import { DATABASE } from '../../server/db/embedded.ts'
import { findRunning } from '../../server/db/pid-file.ts'
import { createAptRoot } from '../support/apt.ts'
import { startDaemon } from '../support/daemon.ts'
import { buildDeb, type DebSpec } from '../support/packages.ts'
import {
  askImport,
  ended,
  importBundle,
  type Installation,
  makeBundle,
  readReceipt,
  receiptOf,
  settle,
  startHubAndSite,
} from '../support/sites.ts'
import { lacking, run } from '../support/tools.ts'
import { packageNames } from '../support/tree.ts'

const VERIFY = join(import.meta.dirname, '..', '..', 'server', 'cli', 'verify.ts')

let folder: string
let hub: Installation
let site: Installation
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gh-bundles-'))
  ;({ hub, site } = await startHubAndSite({ codenames: ['bookworm', 'almalinux9'] }))
})
afterAll(async () => {
  await Promise.all([hub.daemon.close(), site.daemon.close()])
  await rm(folder, { recursive: true, force: true })
})

async function publish(spec: DebSpec): Promise<void> {
  const content = await buildDeb(spec)
  const filename = `${spec.name}_${spec.version}_amd64.deb`
  const { body } = await hub.daemon.upload(content, { token: hub.token, filename, distribution: 'bookworm' })
  expect(body.status).toBe('published')
}

async function served({ daemon }: Installation): Promise<string[]> {
  const { text } = await daemon.call('GET', '/repos/dists/bookworm/main/binary-amd64/Packages')
  return packageNames(text).sort()
}

/** What the site says of itself, for comparing before and after a refusal. */
async function stateOf({ daemon, token }: Installation): Promise<unknown> {
  const { body: packages } = await daemon.call('GET', '/packages/?per_page=200', { token })
  const { body: senders } = await daemon.call('GET', '/bundles/senders', { token })
  return { packages, senders }
}

/** The sentence of an error, in either of its forms. */
const saidIn = (detail: unknown): string =>
  typeof detail === 'string' ? detail : ((detail as { readonly msg: string }[])[0]?.msg ?? '')

async function expectWhole({ daemon }: Installation): Promise<void> {
  const { PATH = '' } = process.env
  const { code, out } = await run(process.execPath, [VERIFY], {
    env: {
      PATH,
      ENV: 'test',
      REPOS_ROOT: daemon.root,
      ...(daemon.databaseUrl && { DATABASE_URL: daemon.databaseUrl }),
    },
  })
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('no difference') as string })
}

describe.skipIf(lacking('apt', 'gnupg').length > 0)('three bundles in a row (needs apt and gnupg)', () => {
  let first: string
  let third: string

  test('the first one brings everything, and is published there under the key of that site', async () => {
    await publish({ name: 'lib-one', version: '1.0' })
    await publish({ name: 'app', version: '1.0', fields: { Depends: 'lib-one (>= 1.0)' } })
    const made = await makeBundle(hub, { site: 'north' }, folder)
    expect(made).toMatchObject({ name: 'north-0001', packages: 2 })
    first = made.path
    const taken = await importBundle(site, first)
    expect(taken).toMatchObject({
      status: 'done',
      missing: [],
      result: { published: 2, already: 0, held: 0, refused: 0, waits: 0 },
    })
    await vi.waitFor(async () => expect(await served(site)).toEqual(['app', 'lib-one']), { timeout: 30_000 })
    const read = await readReceipt(hub, await receiptOf(site))
    expect(read).toMatchObject({ status: 200, body: { missing: [], number: 1, packages: 2 } })
  })

  test('the second one is lost: what needs it is left out and named, the rest is published', async () => {
    await publish({ name: 'lib-two', version: '1.0' })
    const lost = await makeBundle(hub, { site: 'north', base: 'bundle' }, folder)
    expect(lost).toMatchObject({ name: 'north-0002', packages: 1 })
    await publish({ name: 'needs-two', version: '1.0', fields: { Depends: 'lib-two, lib-one' } })
    await publish({ name: 'needs-nothing', version: '1.0' })
    const made = await makeBundle(hub, { site: 'north', base: 'bundle' }, folder)
    expect(made).toMatchObject({ name: 'north-0003', packages: 2 })
    third = made.path
    const asked = await askImport(site, await readFile(third))
    expect(asked.body.missing).toEqual([2])
    expect(asked.body.message).toContain('It builds on 0002, which has not come from hub.')
    expect(await ended(site, asked.body.job_id)).toMatchObject({
      status: 'done',
      result: { published: 1, waits: 1, refused: 0, held: 0 },
    })
    await vi.waitFor(async () => expect(await served(site)).toEqual(['app', 'lib-one', 'needs-nothing']), {
      timeout: 30_000,
    })
    const { body } = await site.daemon.call<{ imports: { missing: number[]; not_published: unknown[] }[] }>(
      'GET',
      '/bundles',
      { token: site.token },
    )
    expect(body.imports[0]).toMatchObject({
      missing: [2],
      not_published: [
        { name: 'needs-two', outcome: 'waits', why: 'It needs lib-two 1.0 (amd64, bookworm), which is not here.' },
      ],
    })
  })

  test('the receipt says so, and the next one holds what was lost and what waited for it', async () => {
    const read = await readReceipt(hub, await receiptOf(site))
    expect(read).toMatchObject({ status: 200, body: { missing: [2], number: 3 } })
    const { body } = await hub.daemon.call<{ bundles: { name: string; standing: string }[] }>('GET', '/bundles', {
      token: hub.token,
    })
    expect(body.bundles.map(({ name, standing }) => [name, standing])).toEqual([
      ['north-0003', 'partly'],
      ['north-0002', 'lost'],
      ['north-0001', 'imported'],
    ])
    const made = await makeBundle(hub, { site: 'north', base: 'bundle' }, folder)
    expect(made).toMatchObject({ name: 'north-0004', packages: 2 })
    const taken = await importBundle(site, made.path)
    expect(taken).toMatchObject({ missing: [], result: { published: 2, waits: 0 } })
    const all = ['app', 'lib-one', 'lib-two', 'needs-nothing', 'needs-two']
    await vi.waitFor(async () => expect(await served(site)).toEqual(all), { timeout: 30_000 })
    const senders = await site.daemon.call<{ senders: unknown[] }>('GET', '/bundles/senders', { token: site.token })
    expect(senders.body.senders).toMatchObject([{ last_number: 4, missing: [] }])
    await readReceipt(hub, await receiptOf(site))
    const again = await hub.daemon.call('POST', '/bundles', {
      token: hub.token,
      body: { site: 'north', vulnerability: false, antivirus: false },
    })
    expect(await ended(hub, String(again.body['job_id']))).toMatchObject({
      status: 'error',
      error: { code: 'bundle_empty' },
    })
  })

  test('a choice of names or of what was imported together goes with what it needs', async () => {
    const database = await findRunning(join(hub.daemon.root, '.pg'))
    const db = createDb({ socket: database?.socket ?? '', database: DATABASE })
    await db.query(`with g as (
      insert into import_group (name, codename, created_by) values ('tools', 'bookworm', 'admin') returning id)
      insert into import_item (group_id, job_id, seq, source_key, format, codename, name, version, arch, path, size, digests, is_root)
      select id, 'x', 0, 'some', 'deb', 'bookworm', 'app', '1.0', 'amd64', 'a.deb', 1, '{}', true from g`)
    await db.close()
    const { daemon, token } = hub
    const body = { site: 'north', base: 'all', groups: ['nothing'] }
    expect(await daemon.call('POST', '/bundles', { token, body })).toMatchObject({ status: 404 })
    for (const [query, names] of [
      ['group=tools', ['app', 'lib-one']],
      ['package=needs-two', ['lib-one', 'lib-two', 'needs-two']],
    ] as const) {
      const { body: seen } = await daemon.call<{ named: { name: string }[] }>(
        'GET',
        `/bundles/sites/north/preview?base=all&${query}`,
        { token },
      )
      expect(seen.named.map(({ name }) => name).sort()).toEqual(names)
    }
    await daemon.call('POST', '/bundles/sites', { token, body: { name: 'south' } })
    expect(await makeBundle(hub, { site: 'south', groups: ['tools'] }, folder)).toMatchObject({ packages: 2 })
  })

  test('apt installs from the site without a network', async () => {
    const source = `${site.daemon.url}/repos bookworm main`
    const root = await createAptRoot({ source, key: site.key })
    try {
      expect(await root.update()).toMatchObject({ code: 0 })
      const { code, err } = await root.install('needs-two', 'app')
      expect({ code, err }).toMatchObject({ code: 0 })
      expect(await root.installedVersion('lib-two')).toBe('1.0')
    } finally {
      await root.close()
    }
    await expectWhole(site)
    await expectWhole(hub)
  })

  test('an older one is refused, and an admin may take it all the same', async () => {
    const before = await stateOf(site)
    const refused = await askImport(site, await readFile(first))
    expect(refused).toMatchObject({ status: 409 })
    expect(refused.body.detail).toContain('has the number 1, and 4 of hub was taken already')
    expect(await stateOf(site)).toEqual(before)
    const allowed = await askImport(site, await readFile(first), { allow_older: true })
    expect(await ended(site, allowed.body.job_id)).toMatchObject({ status: 'done', result: { already: 2 } })
    const { body } = await site.daemon.call<{ items: { action: string; detail: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=BUNDLE_IMPORT',
      { token: site.token },
    )
    expect(body.items[0]?.detail).toContain('although a newer one was taken')
    expect(await stateOf(site)).toEqual(before)
  })
})

describe('what is damaged, foreign or stopped', () => {
  let bundle: Buffer
  let path: string

  beforeAll(async () => {
    for (let n = 0; n < 8; n++)
      await publish({ name: `more-${n}`, version: '1.0', files: { [`usr/share/more-${n}`]: `${n}`.repeat(5_000) } })
    ;({ path } = await makeBundle(hub, { site: 'north' }, folder))
    bundle = await readFile(path)
  })

  /** Imports and expects a refusal that changes nothing. @returns why */
  async function refusal(bytes: Buffer): Promise<string> {
    const asked = await askImport(site, bytes, { name: `${bytes.length}-${Math.random()}.bundle.tar` })
    if (asked.status !== 202) return saidIn(asked.body.detail)
    const job = await ended(site, asked.body.job_id)
    expect(job.status).toBe('error')
    return job.error?.message ?? ''
  }

  test('a flipped byte is noticed wherever it is, and nothing is taken in', { timeout: 300_000 }, async () => {
    const before = await stateOf(site)
    const step = Math.floor(bundle.length / 40)
    for (let at = 0; at < bundle.length; at += step) {
      const flipped = Buffer.from(bundle)
      flipped[at] = (flipped[at] ?? 0) ^ 0x20
      expect(await refusal(flipped), `byte ${at}`).toContain('Nothing of it was taken in')
    }
    expect(await stateOf(site)).toEqual(before)
  })

  test('a cut is noticed at each of nine places', async () => {
    const before = await stateOf(site)
    const sizes = [1, 511, 512, 3_000, bundle.length >> 2, bundle.length >> 1, bundle.length - 2_048]
    for (const size of [...sizes, bundle.length - 1_024, bundle.length - 1])
      expect(await refusal(bundle.subarray(0, size)), `${size} bytes`).toMatch(/cut short|no bundle/)
    expect(await refusal(Buffer.concat([bundle, Buffer.alloc(512)]))).toContain('too long')
    expect(await stateOf(site)).toEqual(before)
  })

  test('a bundle of somebody whom nobody pinned is refused, and the answer says how to pin', async () => {
    const before = await stateOf(site)
    const other = await startDaemon({})
    try {
      const stranger = await settle(other, ['bookworm'])
      const content = await buildDeb({ name: 'strange', version: '1' })
      await other.upload(content, { token: stranger.token, filename: 'strange_1_amd64.deb', distribution: 'bookworm' })
      await other.call('POST', '/bundles/sites', { token: stranger.token, body: { name: 'north' } })
      const made = await makeBundle(stranger, { site: 'north' }, folder)
      const bytes = await readFile(made.path)
      const spaced = stranger.fingerprint.replace(/.{4}(?=.)/g, '$& ')
      const said = await refusal(bytes)
      expect(said).toContain(`is signed with ${spaced}, and no sender with this key is pinned`)
      expect(said).toContain('then an admin pins it as that of a sender.')
      expect(await stateOf(site)).toEqual(before)
    } finally {
      await other.close()
    }
  })

  test('a receipt that is damaged, or signed with another key, is refused', async () => {
    const own = await receiptOf(site)
    const flipped = Buffer.from(own)
    flipped[700] = (flipped[700] ?? 0) ^ 0x01
    expect(await readReceipt(hub, flipped)).toMatchObject({ status: 422 })
    const body = { fingerprint: 'A'.repeat(40) }
    await hub.daemon.call('PUT', '/bundles/sites/north/key', { token: hub.token, body })
    const refused = await readReceipt(hub, own)
    expect(refused).toMatchObject({ status: 403 })
    expect(refused.body.detail).toContain('this key is not pinned for the site')
    await hub.daemon.call('PUT', '/bundles/sites/north/key', { token: hub.token, body: { public_key: site.key } })
    expect(await readReceipt(hub, own)).toMatchObject({ status: 200 })
  })

  test('an upload that breaks off goes on where it was', async () => {
    const begin = (): Promise<{ body: { id: string; received: number } }> =>
      site.daemon.call('POST', '/bundles/uploads', {
        token: site.token,
        body: { file_name: 'resumed.bundle.tar', size: bundle.length },
      })
    const put = (id: string, offset: number, bytes: Buffer): Promise<Response> =>
      fetch(`${site.daemon.url}/api/v1/bundles/uploads/${id}?offset=${offset}`, {
        method: 'PUT',
        headers: { 'Authorization': `Bearer ${site.token}`, 'Content-Type': 'application/octet-stream' },
        body: new Uint8Array(bytes),
      })
    const { id } = (await begin()).body
    await put(id, 0, bundle.subarray(0, 10_000))
    expect((await begin()).body).toMatchObject({ id, received: 10_000 })
    const misplaced = await put(id, 5_000, bundle.subarray(5_000, 6_000))
    expect(misplaced.status).toBe(409)
    const early = await site.daemon.call('POST', '/bundles/inspect', { token: site.token, body: { upload: id } })
    expect(early.status).toBe(409)
    await put(id, 10_000, bundle.subarray(10_000))
    const whole = await site.daemon.call('POST', '/bundles/inspect', { token: site.token, body: { upload: id } })
    expect(whole.body).toMatchObject({
      name: 'north-0005',
      packages: 8,
      signature: { state: 'trusted', sender: 'hub' },
      sequence: 'next',
      may_import: true,
      said: 'It follows what came before.',
    })
  })

  test('killed in the middle of an import it goes on, and does nothing twice', { timeout: 300_000 }, async () => {
    await site.daemon.stop()
    await site.daemon.restart({ GATEHOUSE_FAILPOINT: 'bundle:after-package#3' })
    const asked = await askImport(site, bundle, { name: 'killed.bundle.tar' })
    expect(asked.status).toBe(202)
    await site.daemon.ended()
    await site.daemon.kill9()
    await site.daemon.restart()
    const job = await ended(site, asked.body.job_id)
    expect(job).toMatchObject({ status: 'done' })
    const counts = job.result as { published: number; already: number }
    expect(counts.published + counts.already).toBe(8)
    const { body } = await site.daemon.call<{ items: { package: string }[] }>(
      'GET',
      '/artifacts/audit/logs?action=IMPORT&per_page=500',
      { token: site.token },
    )
    const admitted = body.items.map(line => line.package).filter(name => name.startsWith('more-'))
    expect(admitted.sort()).toEqual(Array.from({ length: 8 }, (_, n) => `more-${n}`))
    await vi.waitFor(async () => expect((await served(site)).filter(name => name.startsWith('more-')).length).toBe(8), {
      timeout: 30_000,
    })
    await expectWhole(site)
  })

  test('a package that the rules of the site hold is held, and what needs it with it', async () => {
    const rules = await site.daemon.call('PATCH', '/settings/', {
      token: site.token,
      body: { script_policy: { setuid_file: 'review' } },
    })
    expect(rules.status).toBe(200)
    await publish({
      name: 'risky',
      version: '1.0',
      files: { 'usr/bin/risky': { content: '#!/bin/sh\n', mode: 0o4755 } },
    })
    await publish({ name: 'needs-risky', version: '1.0', fields: { Depends: 'risky' } })
    await publish({ name: 'elsewhere', version: '1.0' })
    await readReceipt(hub, await receiptOf(site))
    const made = await makeBundle(hub, { site: 'north' }, folder)
    expect(made.packages).toBe(3)
    expect(await importBundle(site, made.path)).toMatchObject({ result: { published: 1, held: 2, refused: 0 } })
    const { body } = await site.daemon.call<{ imports: { not_published: unknown[] }[] }>('GET', '/bundles', {
      token: site.token,
    })
    expect(body.imports[0]?.not_published).toMatchObject([
      { name: 'risky', outcome: 'held' },
      { name: 'needs-risky', outcome: 'held', why: expect.stringContaining('It needs risky 1.0') as string },
    ])
    expect(await readReceipt(hub, await receiptOf(site))).toMatchObject({ status: 200, body: { held: 2 } })
    await expectWhole(site)
  })
})
